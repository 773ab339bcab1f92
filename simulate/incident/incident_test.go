package incident

import (
	"reflect"
	"testing"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/detect"
)

func simulate(t *testing.T, spec Spec, cfg detect.Config) (Result, Truth) {
	t.Helper()
	in, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	result, err := in.Simulate(cfg)
	if err != nil {
		t.Fatal(err)
	}
	truth, err := in.Truth(result)
	if err != nil {
		t.Fatal(err)
	}
	return result, truth
}

// TestEveryClassDoesWhatItSays: each culprit costs time, a healthy run nothing, and a
// hang and a deadlock do not end.
func TestEveryClassDoesWhatItSays(t *testing.T) {
	for i, class := range Classes() {
		algorithm := Algorithms()[i%len(Algorithms())]
		result, truth := simulate(t, Spec{Class: class, Algorithm: algorithm, ChunkBytes: 1 << 19, Seed: uint64(i)}, detect.DefaultConfig())
		ends := class != collective.Hang && class != collective.Deadlock
		if result.Finished != ends {
			t.Errorf("%s, %s: finished %v", class, algorithm, result.Finished)
		}
		if ends && (truth.CostNanos > truth.WithoutNanos/50) != (class != Healthy) {
			t.Errorf("%s, %s: cost %d of %d", class, algorithm, truth.CostNanos, truth.WithoutNanos)
		}
		if class != Healthy && len(truth.Objects) == 0 {
			t.Errorf("%s, %s: no place", class, algorithm)
		}
	}
}

// TestStepsFollowTheirData: no step begins before what it awaits has ended.
func TestStepsFollowTheirData(t *testing.T) {
	for _, algorithm := range Algorithms() {
		result, _ := simulate(t, Spec{Class: Healthy, Algorithm: algorithm, ChunkBytes: 1 << 17, Seed: 5}, detect.Config{Mode: detect.Off})
		type key struct{ rank, step int32 }
		ends := map[key]int64{}
		for _, s := range result.Run.Steps {
			ends[key{s.Rank, s.Step}] = s.EndNanos
		}
		if want := len(result.Run.Ranks) * result.Run.Communicators[0].Steps; len(ends) != want {
			t.Errorf("%s: %d steps, want %d", algorithm, len(ends), want)
		}
		for _, s := range result.Run.Steps {
			if s.EndNanos < s.BeginNanos+s.AloneNanos*98/100 || s.Peer != collective.None && s.EndNanos > s.BeginNanos+s.AloneNanos*12/10+1000 {
				t.Errorf("%s: rank %d step %d took %d, alone %d", algorithm, s.Rank, s.Step, s.EndNanos-s.BeginNanos, s.AloneNanos)
			}
			if before := ends[key{s.AwaitsRank, s.AwaitsStep}]; s.BeginNanos < before || s.BeginNanos < ends[key{s.Rank, s.Step - 1}] {
				t.Errorf("%s: rank %d step %d begins at %d before its data at %d", algorithm, s.Rank, s.Step, s.BeginNanos, before)
			}
		}
	}
}

// TestLargerFabrics: with 16 ranks and 6 spines every class does the same, too.
func TestLargerFabrics(t *testing.T) {
	for i, class := range Classes() {
		algorithm := Algorithms()[i%len(Algorithms())]
		result, truth := simulate(t, Spec{Class: class, Algorithm: algorithm, ChunkBytes: 1 << 16, Seed: uint64(i), Ranks: 16, Spines: 6}, detect.Config{Mode: detect.Off})
		if ends := class != collective.Hang && class != collective.Deadlock; result.Finished != ends || len(result.Run.Ranks) != 16 || (class == Healthy || !ends) != (truth.CostNanos == 0) {
			t.Errorf("%s, %s: finished %v, cost %d", class, algorithm, result.Finished, truth.CostNanos)
		}
	}
}

// TestAWatchedRunIsTheSame: telemetry changes nothing of what happens, and the same Spec
// gives the same records.
func TestAWatchedRunIsTheSame(t *testing.T) {
	spec := Spec{Class: collective.SelfCollision, Algorithm: collective.Ring, ChunkBytes: 1 << 18, Seed: 3}
	watched, _ := simulate(t, spec, detect.DefaultConfig())
	again, _ := simulate(t, spec, detect.DefaultConfig())
	blind, _ := simulate(t, spec, detect.Config{Mode: detect.Off})
	if !reflect.DeepEqual(watched.Run.Steps, blind.Run.Steps) || !reflect.DeepEqual(watched, again) || watched.Polls == 0 {
		t.Errorf("%d polls; makespans %d, %d and %d", watched.Polls, watched.MakespanNanos, again.MakespanNanos, blind.MakespanNanos)
	}
}

func TestAlgorithmsMoveTheirData(t *testing.T) {
	order := []int{3, 1, 0, 2, 7, 6, 5, 4}
	for algorithm, want := range map[collective.Algorithm]struct {
		steps, sends int
		bytes        int64 // of all ranks
	}{
		collective.Ring:            {14, 8 * 14, 8 * 14 * 100},
		collective.Direct:          {7, 8 * 7, 8 * 7 * 100},
		collective.HalvingDoubling: {6, 8 * 6, 2 * 8 * (400 + 200 + 100)},
		collective.Tree:            {6, 2 * 7, 2 * 7 * 800},
	} {
		sends, bytes := 0, int64(0)
		prog := newProgram(algorithm, order, 100)
		for _, steps := range prog {
			if len(steps) != want.steps {
				t.Errorf("%s: %d steps, want %d", algorithm, len(steps), want.steps)
			}
			for _, s := range steps {
				if s.peer != collective.None {
					sends++
					bytes += s.bytes
				}
			}
		}
		if sends != want.sends || bytes != want.bytes {
			t.Errorf("%s: %d sends of %d bytes, want %+v", algorithm, sends, bytes, want)
		}
	}
}

func TestWhatIsNoSpec(t *testing.T) {
	for _, spec := range []Spec{{}, {Class: Healthy}, {Class: Healthy, Algorithm: collective.Ring, ChunkBytes: 1}, {Class: "odd", Algorithm: collective.Ring, ChunkBytes: 1 << 20}, {Class: Healthy, Algorithm: collective.Ring, ChunkBytes: 1 << 20, Ranks: 12}, {Class: Healthy, Algorithm: collective.Ring, ChunkBytes: 1 << 20, Spines: 3}} {
		if _, err := New(spec); err == nil {
			t.Errorf("%+v was taken", spec)
		}
	}
}
