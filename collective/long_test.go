package collective_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/giverny/giverny/collective"
)

// jobs returns runs of several collectives, each beginning before the previous one has
// ended on all ranks.
func jobs() map[string]collective.Run {
	ranks, communicators := ringRanks(16)
	ring := collective.Run{Ranks: ranks, Communicators: communicators}
	ends := make([]int64, 16)
	for i := range ends {
		ends[i] = 1e9
	}
	for iteration := range int32(7) {
		late := int(iteration%2) * 5
		before := make([]int64, 16)
		copy(before, ends)
		for step := int32(1); step <= 30; step++ {
			for rank := range 16 {
				begin := max(before[rank], before[(rank+15)%16])
				awaits := collective.StepRecord{AwaitsRank: int32((rank + 15) % 16), AwaitsStep: step - 1}
				if step == 1 {
					begin = before[rank]
					awaits.AwaitsStep = collective.None
				}
				if rank == late && step == 27 {
					begin += 3_000_000
				}
				ends[rank] = begin + 20_000 + int64(rank)
				awaits.Iteration, awaits.Step, awaits.Rank, awaits.Peer, awaits.Bytes = iteration, step, int32(rank), int32((rank+1)%16), 40_000
				awaits.BeginNanos, awaits.EndNanos, awaits.AloneNanos = begin, ends[rank], 20_000
				ring.Steps = append(ring.Steps, awaits)
			}
			copy(before, ends)
		}
	}
	stopped := ring
	for _, s := range ring.Steps {
		if len(stopped.Steps) == len(ring.Steps) {
			stopped.Steps = nil
		}
		if s.Iteration < 6 || s.Step < 9 {
			stopped.Steps = append(stopped.Steps, s)
		}
	}
	late := ring // the clocks of two ranks are an hour off
	late.Steps = append([]collective.StepRecord(nil), ring.Steps...)
	for i := range late.Steps {
		if s := &late.Steps[i]; s.Rank == 3 || s.Rank == 9 {
			s.BeginNanos, s.EndNanos = s.BeginNanos+3600e9, s.EndNanos+3600e9
		}
	}
	return map[string]collective.Run{"ring": ring, "stopped": stopped, "clocks": late}
}

// A job over the limit is diagnosed in parts, with the same result as in one piece.
func TestLongRunIsAsInOnePiece(t *testing.T) {
	for name, run := range jobs() {
		want := collective.Diagnose(run, collective.Options{})
		joined(t, want)
		if len(want.Culprits) < 2 && name != "stopped" {
			t.Fatalf("%s: %s", name, want.Text)
		}
		for _, limit := range []int{480, 1000, 2500} {
			got := collective.Diagnose(run, collective.Options{Limit: limit})
			joined(t, got)
			if !sameDiagnosis(got, want) {
				t.Errorf("%s, limit %d:\n%s\nwant\n%s", name, limit, got.Text, want.Text)
			}
		}
	}
}

// sameDiagnosis compares diagnoses, with costs within a thousandth: delays shortened by
// a culprit are only followed to the end of a part.
func sameDiagnosis(a, b collective.Diagnosis) bool {
	near := func(x, y int64) bool { return 1000*max(x-y, y-x) <= max(x, y) }
	sums := func(d collective.Diagnosis) map[collective.Culprit][2]int64 {
		out := map[collective.Culprit][2]int64{}
		for i, c := range d.Culprits {
			sum := int64(0)
			for _, l := range d.Losses {
				if l.Culprit == i && l.BeginNanos >= 0 && l.EndNanos <= d.MakespanNanos {
					sum += l.Nanos
				}
			}
			out[collective.Culprit{Class: c.Class, Object: c.Object, Confidence: c.Confidence, Evidence: c.Evidence}] = [2]int64{c.CostNanos, sum}
		}
		return out
	}
	all := sums(b)
	for c, got := range sums(a) {
		if want, ok := all[c]; !ok || !near(got[0], want[0]) || !near(got[1], want[1]) {
			return false
		}
	}
	return len(a.Culprits) == len(b.Culprits) && near(a.ExpectedNanos, b.ExpectedNanos) && a.MakespanNanos == b.MakespanNanos &&
		slices.EqualFunc(a.CriticalPath, b.CriticalPath, sameSegment(len(a.ClockOffsets) > 0)) && slices.Equal(a.StoppedRanks, b.StoppedRanks) && slices.Equal(a.LateRanks, b.LateRanks) &&
		slices.Equal(a.MissingRanks, b.MissingRanks) && slices.Equal(a.Notes, b.Notes) && a.Iterations == b.Iterations && a.Steps == b.Steps && a.FirstNanos == b.FirstNanos &&
		offsets(a) == offsets(b)
}

// sameSegment compares, within a microsecond where clocks are estimated.
func sameSegment(estimated bool) func(a, b collective.Segment) bool {
	return func(a, b collective.Segment) bool {
		if estimated && max(a.BeginNanos-b.BeginNanos, b.BeginNanos-a.BeginNanos, a.EndNanos-b.EndNanos, b.EndNanos-a.EndNanos) < 1000 {
			a.BeginNanos, a.EndNanos = b.BeginNanos, b.EndNanos
		}
		return a == b
	}
}

// offsets lists the clock offsets of over a microsecond, in microseconds.
func offsets(d collective.Diagnosis) string {
	out := map[int]int64{}
	for _, o := range d.ClockOffsets {
		if us := (o.OffsetNanos + 500) / 1000; us != 0 {
			out[o.Rank] = us
		}
	}
	return fmt.Sprint(out)
}

// Records of one collective over the limit are left out, with a note.
func TestOneCollectiveOverTheLimit(t *testing.T) {
	run := jobs()["ring"]
	run.Steps = run.Steps[:480]
	d := collective.Diagnose(run, collective.Options{Limit: 300})
	if len(d.Notes) != 1 || d.Notes[0] != "180 step records of one collective are over the limit and were dropped" {
		t.Errorf("%v", d.Notes)
	}
}

// The first step of a rank in a part may have waited longer for the rank's own last step in the part before than for data,
// as at an inner node of a tree that is behind: then the path comes from there.
func TestALongRunOfARankThatIsBehind(t *testing.T) {
	ranks, _ := ringRanks(2)
	run := collective.Run{Ranks: ranks, Communicators: []collective.Communicator{{Name: "tree", Members: []int{0, 1}, Algorithm: collective.Custom}}}
	sent, passedOn := int64(1e9), int64(1e9)
	for iteration := range int32(6) {
		sent = max(sent, passedOn-4_000_000) // its data are there 2 ms before they are passed on
		for step := int32(1); step <= 10; step++ {
			run.Steps = append(run.Steps, collective.StepRecord{Iteration: iteration, Step: step, Rank: 1, Peer: 0, Bytes: 40_000, AwaitsStep: collective.None, BeginNanos: sent, EndNanos: sent + 200_000, AloneNanos: 200_000})
			sent += 200_000
		}
		begin := max(sent, passedOn)
		passedOn = begin + 9_000_000
		run.Steps = append(run.Steps, collective.StepRecord{Iteration: iteration, Step: 11, Rank: 0, Peer: 1, Bytes: 1_800_000, AwaitsRank: 1, AwaitsStep: 10, BeginNanos: begin, EndNanos: passedOn, AloneNanos: 9_000_000})
	}
	want := collective.Diagnose(run, collective.Options{})
	joined(t, want)
	for _, limit := range []int{11, 22, 40} {
		got := collective.Diagnose(run, collective.Options{Limit: limit})
		joined(t, got)
		if !sameDiagnosis(got, want) {
			t.Errorf("limit %d: %s\n%v\nwant %s\n%v", limit, got.Text, got.CriticalPath, want.Text, want.CriticalPath)
		}
	}
}
