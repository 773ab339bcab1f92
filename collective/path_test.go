package collective_test

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/plans"
	"github.com/giverny/giverny/collective/plans/planstest"
)

func joined(t *testing.T, d collective.Diagnosis) {
	t.Helper()
	at := int64(0)
	for _, s := range d.CriticalPath {
		if s.BeginNanos != at || s.EndNanos < s.BeginNanos {
			t.Fatalf("segment %+v does not begin at %d", s, at)
		}
		at = s.EndNanos
	}
	if at != d.MakespanNanos {
		t.Fatalf("segments end at %d, makespan %d", at, d.MakespanNanos)
	}
}

// longest is the naive twin of the critical path: the end of a step is the longest
// chain of gaps and durations to it, found by recursion over all steps.
func TestPathOfEveryAlgorithm(t *testing.T) {
	random := rand.New(rand.NewSource(7))
	for _, s := range planstest.Shapes() {
		p, err := plans.Decompose(s)
		if err != nil {
			t.Fatal(err)
		}
		run := planstest.Run(random, p, s.Algorithm)
		want := int64(0)
		for _, x := range run.Steps {
			want = max(want, x.EndNanos-1_000_000)
		}
		d := collective.Diagnose(run, collective.Options{})
		if first := run.Steps[0].BeginNanos; d.MakespanNanos > want || d.MakespanNanos < want-first+1_000_000-3000 {
			t.Errorf("%+v: makespan %d, want %d", s, d.MakespanNanos, want)
		}
		joined(t, d)
		// The order of the records, and duplicates, do not matter.
		mixed := run
		mixed.Steps = append(slices.Clone(run.Steps), run.Steps[:len(run.Steps)/3]...)
		random.Shuffle(len(mixed.Steps), func(i, j int) { mixed.Steps[i], mixed.Steps[j] = mixed.Steps[j], mixed.Steps[i] })
		if again := collective.Diagnose(mixed, collective.Options{}); fmt.Sprint(again.CriticalPath) != fmt.Sprint(d.CriticalPath) {
			t.Errorf("%+v: another path from mixed records", s)
		}
	}
}

// Clocks that are off by hours are corrected using matched steps.
func TestClocksOffByHours(t *testing.T) {
	for _, program := range []bool{false, true} {
		m := newModel()
		if program {
			m.program, m.steps, m.choose = halvingDoubling, 6, 0
		}
		m.background(18, 14, 80e6, 16e6)
		run := m.run()
		run.Flows, run.Telemetry, run.Pauses = nil, nil, nil
		want := collective.Diagnose(run, collective.Options{})
		off := map[int32]int64{2: 3_600_000_000_000, 5: -7_200_000_000_000, 7: 40_000_000}
		for i := range run.Steps {
			run.Steps[i].BeginNanos += off[run.Steps[i].Rank]
			run.Steps[i].EndNanos += off[run.Steps[i].Rank]
		}
		got := collective.Diagnose(run, collective.Options{})
		// A ring's differences cancel exactly; pairs that exchange six times leave the
		// shortest delays of few steps.
		if diff := got.MakespanNanos - want.MakespanNanos; diff > want.MakespanNanos/20 || diff < -want.MakespanNanos/20 || !program && diff != 0 {
			t.Errorf("makespan %d, with right clocks %d", got.MakespanNanos, want.MakespanNanos)
		}
		if len(got.ClockOffsets) < 3 || !strings.Contains(got.Text, "clocks") {
			t.Errorf("offsets %v\n%s", got.ClockOffsets, got.Text)
		}
		joined(t, got)
	}
}
