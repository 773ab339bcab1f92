package incident

import (
	"maps"
	"math/rand/v2"
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

// TestEveryClassDoesWhatItSays: each culprit costs time, a healthy run has no cost, and
// a hang and a deadlock do not end.
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

// TestStepsFollowTheirData: no step begins before what it awaits has ended, and nothing
// slows a healthy run's steps, whatever the number of ranks.
func TestStepsFollowTheirData(t *testing.T) {
	for _, algorithm := range Algorithms() {
		for _, ranks := range []int{8, 4, 5, 7, 12} {
			spec := Spec{Class: Healthy, Algorithm: algorithm, ChunkBytes: 1 << 17, Seed: 5, Ranks: ranks}
			if spec.Validate() != nil { // halving-doubling of a number that is not a power of two
				continue
			}
			result, _ := simulate(t, spec, detect.Config{Mode: detect.Off})
			checkSteps(t, &spec, &result.Run)
		}
	}
}

func checkSteps(t *testing.T, spec *Spec, run *collective.Run) {
	t.Helper()
	type key struct{ rank, step int32 }
	ends := map[key]int64{}
	for _, s := range run.Steps {
		ends[key{s.Rank, s.Step}] = s.EndNanos
	}
	if want := len(run.Ranks) * run.Communicators[0].Steps; len(ends) != want {
		t.Errorf("%+v: %d steps, want %d", spec, len(ends), want)
	}
	for _, s := range run.Steps {
		if s.EndNanos < s.BeginNanos+s.AloneNanos*98/100 || s.Peer != collective.None && s.EndNanos > s.BeginNanos+s.AloneNanos*12/10+1000 {
			t.Errorf("%+v: rank %d step %d took %d, alone %d", spec, s.Rank, s.Step, s.EndNanos-s.BeginNanos, s.AloneNanos)
		}
		if before := ends[key{s.AwaitsRank, s.AwaitsStep}]; s.BeginNanos < before || s.BeginNanos < ends[key{s.Rank, s.Step - 1}] {
			t.Errorf("%+v: rank %d step %d begins at %d before its data at %d", spec, s.Rank, s.Step, s.BeginNanos, before)
		}
	}
}

// TestLargerFabrics: every class also works with 16 ranks and 6 spines.
func TestLargerFabrics(t *testing.T) {
	for i, class := range Classes() {
		algorithm := Algorithms()[i%len(Algorithms())]
		result, truth := simulate(t, Spec{Class: class, Algorithm: algorithm, ChunkBytes: 1 << 16, Seed: uint64(i), Ranks: 16, Spines: 6}, detect.Config{Mode: detect.Off})
		if ends := class != collective.Hang && class != collective.Deadlock; result.Finished != ends || len(result.Run.Ranks) != 16 || (class == Healthy || !ends) != (truth.CostNanos == 0) {
			t.Errorf("%s, %s: finished %v, cost %d", class, algorithm, result.Finished, truth.CostNanos)
		}
	}
}

// TestAnyNumberOfRanks: every algorithm and class also works with numbers of ranks that
// do not fill leaves or powers of two, and the collective delivers to every rank.
func TestAnyNumberOfRanks(t *testing.T) {
	for _, ranks := range []int{4, 5, 6, 7, 11, 12, 17} {
		for i, class := range Classes() {
			if class == collective.Deadlock && ranks < 8 {
				continue
			}
			spec := Spec{Class: class, Algorithm: Algorithms()[(i+ranks)%len(Algorithms())], ChunkBytes: 1 << 16, Seed: uint64(ranks), Ranks: ranks}
			if spec.Algorithm == collective.HalvingDoubling && ranks != 4 {
				spec.Algorithm = collective.Tree
			}
			result, truth := simulate(t, spec, detect.Config{Mode: detect.Off})
			if ends := class != collective.Hang && class != collective.Deadlock; result.Finished != ends || len(result.Run.Ranks) != ranks || (class == Healthy || !ends) != (truth.CostNanos == 0) || (class != Healthy) != (len(truth.Objects) > 0) {
				t.Errorf("%+v: finished %v, cost %d, at %v", spec, result.Finished, truth.CostNanos, truth.Objects)
			}
		}
	}
}

// TestProgramsOfAnyNumberOfRanks: the data of each rank reaches all others of an
// all-reduce, by the steps' waits.
func TestProgramsOfAnyNumberOfRanks(t *testing.T) {
	for ranks := 2; ranks <= 20; ranks++ {
		order := rand.New(rand.NewPCG(uint64(ranks), 1)).Perm(ranks)
		for _, algorithm := range []collective.Algorithm{collective.Ring, collective.Tree} {
			for rank, known := range deliver(newProgram(algorithm, order, 1<<16)) {
				if len(known) != ranks {
					t.Errorf("%s of %d ranks: rank %d has the data of %d", algorithm, ranks, rank, len(known))
				}
			}
		}
	}
}

// deliver plays a program step by step, and returns whose data each rank has at the end.
func deliver(prog program) []map[int]bool {
	has := make([]map[int]bool, len(prog))
	for rank := range has {
		has[rank] = map[int]bool{rank: true}
	}
	for s := range prog[0] {
		next := make([]map[int]bool, len(has))
		for rank := range has {
			next[rank] = maps.Clone(has[rank])
		}
		for rank, steps := range prog {
			if steps[s].peer != collective.None {
				maps.Copy(next[steps[s].peer], has[rank])
			}
		}
		has = next
	}
	return has
}

// TestAWatchedRunIsTheSame: telemetry does not affect the run, and the same Spec gives
// the same records.
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
	for _, spec := range []Spec{{}, {Class: Healthy}, {Class: Healthy, Algorithm: collective.Ring, ChunkBytes: 1}, {Class: "odd", Algorithm: collective.Ring, ChunkBytes: 1 << 20}, {Class: Healthy, Algorithm: collective.Ring, ChunkBytes: 1 << 20, Ranks: 3}, {Class: Healthy, Algorithm: collective.Ring, ChunkBytes: 1 << 20, Ranks: 257}, {Class: Healthy, Algorithm: collective.HalvingDoubling, ChunkBytes: 1 << 20, Ranks: 12}, {Class: collective.Deadlock, Algorithm: collective.Ring, ChunkBytes: 1 << 20, Ranks: 6}, {Class: Healthy, Algorithm: collective.Ring, ChunkBytes: 1 << 20, Spines: 3}} {
		if _, err := New(spec); err == nil {
			t.Errorf("%+v was taken", spec)
		}
	}
}
