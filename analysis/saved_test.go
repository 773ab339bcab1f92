package analysis_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/schema"
)

// wavy returns a fabric that is calm, then hot with a region that comes and
// goes, and calm again.
func wavy(t *testing.T) (g *fabric, batches []*schema.CounterBatch) {
	g = &fabric{graph: newGraph(t, "torus:4x4x4")}
	hot := hotQuarter(g.graph)
	for s := int64(10); s <= 60; s++ {
		percent := func(l schema.LinkID) uint64 {
			if s < 14 || s > 54 || s%7 == 0 {
				return 0
			}
			return hot(l) * uint64(2+s%3) / 4
		}
		batches = append(batches, g.poll(s*second, percent))
	}
	return g, batches
}

// Wherever a process ends, the next one reports exactly what the first would
// have, given the state that was saved last and the intervals stored since.
func TestLoadAndResumeGoOn(t *testing.T) {
	f, batches := wavy(t)
	whole := newCore(t, f.graph)
	add(t, whole, batches...)
	want := results(whole, 61*second)
	for _, stored := range []int{1, 2, 9, 10, 11, 12, 25, 40, len(want) - 1} {
		saved := stored - 1
		for want[saved].Saved == nil {
			saved--
		}
		if stored-saved > analysis.SaveIntervals {
			t.Fatalf("%d intervals since the last that was saved", stored-saved)
		}
		core := newCore(t, f.graph)
		if err := core.Load(want[saved].Snapshot.Interval, want[saved].Saved); err != nil {
			t.Fatal(err)
		}
		var since []analysis.Interval
		for _, r := range want[saved:stored] { // the saved one too, which does no harm
			since = append(since, analysis.Interval{Interval: r.Snapshot.Interval, Regions: slices.Clone(r.Regions), Snapshot: r.Snapshot})
		}
		if err := core.Resume(since); err != nil {
			t.Fatal(err)
		}
		add(t, core, batches...)
		got := results(core, 61*second)
		if len(got) != len(want)-stored {
			t.Fatalf("after %d: %d results, want %d", stored, len(got), len(want)-stored)
		}
		for i, r := range got {
			a, b := *want[stored+i], *r
			a.Saved, b.Saved, a.Dropped, b.Dropped, a.Raw, b.Raw = nil, nil, nil, nil, nil, nil
			if diff := cmp.Diff(a, b, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("after %d, %v (-uninterrupted +resumed):\n%s", stored, r.Snapshot.Interval, diff)
			}
		}
	}
}

func TestResultsSayWhatIsKnownOverTime(t *testing.T) {
	f, batches := wavy(t)
	core := newCore(t, f.graph)
	add(t, core, batches...)
	began, spells, moves, hot := int64(0), 0, 0, false
	var last *schema.IntervalResult
	for _, last = range results(core, 60*second) {
		for _, r := range last.Regions {
			if r.Forecast == nil {
				t.Fatalf("%v: region %d has no forecast", last.Snapshot.Interval, r.ID)
			}
		}
		if e := last.Congestion; e != nil {
			began = e.BeginNanos
		}
		spells, moves, hot = spells+len(last.Episodes), moves+len(last.Transitions), hot || len(last.Hot) > 0
	}
	if began == 0 || spells == 0 || moves == 0 || !hot || last.Skill.Next.Forecasts == 0 || last.Network.Next == (schema.Odds{}) || len(last.States) == 0 {
		t.Errorf("congestion since %d, %d spells, %d moves, hot links %v, %+v", began, spells, moves, hot, last.Skill.Next)
	}
}

func TestDamagedStateChangesNothing(t *testing.T) {
	f, batches := wavy(t)
	core, plain := newCore(t, f.graph), newCore(t, f.graph)
	add(t, plain, batches[:20]...)
	first := results(plain, 31*second)[0]
	at, saved := first.Snapshot.Interval, first.Saved
	for s := range saved {
		for i := 0; i < len(saved[s].Bytes); i += 1 + i/50 {
			bad := slices.Clone(saved[s].Bytes)
			bad[i] ^= 0x10
			for _, b := range [][]byte{bad, saved[s].Bytes[:i]} {
				states := slices.Clone(saved)
				states[s].Bytes = b
				if err := core.Load(at, states); err == nil || !strings.Contains(err.Error(), saved[s].Stage) {
					t.Fatalf("%s, byte %d: %v", saved[s].Stage, i, err)
				}
			}
		}
		later := slices.Clone(saved)
		later[s].Version = 99
		if err := core.Load(at, later); err == nil || !strings.Contains(err.Error(), "99") {
			t.Errorf("%s, of a later form: %v", saved[s].Stage, err)
		}
	}
	if err := newCore(t, newGraph(t, "torus:4x4")).Load(at, saved); err == nil {
		t.Errorf("of another graph: %v", err)
	}
	add(t, core, batches[:20]...)
	if diff := cmp.Diff(saved, results(core, 31*second)[0].Saved); diff != "" {
		t.Errorf("a refused state has left something behind: %s", diff)
	}
}

// Before each stage had a state of its own, there was one state of both parts.
func TestStateOfTheFirstFormIsRead(t *testing.T) {
	f, batches := wavy(t)
	plain := newCore(t, f.graph)
	add(t, plain, batches...)
	all := results(plain, 61*second)
	at := slices.IndexFunc(all, func(r *schema.IntervalResult) bool { return r.Saved != nil && len(r.Regions) > 0 })
	first := all[at]
	state := func(stage string) []byte {
		return first.Saved[slices.IndexFunc(first.Saved, func(s schema.StageState) bool { return s.Stage == stage })].Bytes
	}
	track, hot := state("track"), state("hotspots")
	joined := append(append(binary.AppendUvarint(nil, uint64(len(track))), track...), hot...)
	old := []schema.StageState{{Stage: "all", Version: 1, Bytes: joined}}
	core := newCore(t, f.graph)
	if err := core.Load(first.Snapshot.Interval, old); err != nil {
		t.Fatal(err)
	}
	if err := core.Resume([]analysis.Interval{{Interval: first.Snapshot.Interval}}); err != nil {
		t.Fatal(err)
	}
	add(t, core, batches...)
	if diff := cmp.Diff(all[at+1].Regions, results(core, 61*second)[0].Regions); diff != "" {
		t.Errorf("regions do not go on (-uninterrupted +resumed):\n%s", diff)
	}
	old[0].Bytes = joined[:3]
	if err := core.Load(first.Snapshot.Interval, old); err == nil {
		t.Errorf("cut short: %v", err)
	}
}
