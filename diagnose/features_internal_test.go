package diagnose

import (
	"math"
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/correlation"
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/topology"
)

// TestFilesOnlySayNothingOnAnExchange: the traffic of a job of which the table has file traffic only is unknown, unless
// its files stand out, or the links of its hosts show the rest.
func TestFilesOnlySayNothingOnAnExchange(t *testing.T) {
	const now, onset = 20, 12
	idle, steps := func(int64) float64 { return 0 }, func(slot int64) float64 {
		if slot >= onset {
			return 5e12
		}
		return 1e9
	}
	for _, c := range []struct {
		name, fabric        string
		loads               bool
		traffic             map[history.Feature]func(int64) float64
		known, file, others bool // others: of which movedByNode is the mean
	}{
		{"files that are idle", "torus:4x4x4", true, map[history.Feature]func(int64) float64{history.Read: idle, history.Write: idle}, false, false, false},
		{"files that rise with the stall", "torus:4x4x4", true, map[history.Feature]func(int64) float64{history.Read: idle, history.Write: steps}, true, true, false},
		{"all of its traffic", "torus:4x4x4", true, map[history.Feature]func(int64) float64{history.Read: idle, history.Write: idle, history.RDMAWrite: idle}, true, false, true},
		{"files on a tree", "fattree:leaves=4,hosts=4,spines=4", true, map[history.Feature]func(int64) float64{history.Read: idle, history.Write: idle}, true, false, true},
		{"files on a tree without load readings", "fattree:leaves=4,hosts=4,spines=4", false, map[history.Feature]func(int64) float64{history.Read: idle, history.Write: idle}, false, false, false},
	} {
		s, err := New(roottest.Graph(t, c.fabric), DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.history.Clock, s.measuresLoad = history.Clock{Duration: 60e9, Now: now}, c.loads
		j := &job{Job: &history.Job{Devices: []topology.DeviceID{1, 2, 3}}}
		j.Traffic = history.NewTraffic(s.history.TrafficLength(), now)
		rc := &regionCase{in: &s.interval, timeline: timeline{clock: s.history.Clock, stall: make([]float64, now+1), onset: onset}}
		for slot := range int64(now + 1) {
			if slot >= onset {
				rc.timeline.stall[slot] = 40
			}
			for f, bytes := range c.traffic {
				j.Traffic.Set(f, slot, bytes(slot))
				j.Traffic.Listed[f] = true
			}
		}
		rc.in.scratch.correlator.SetLags(rc.in.cfg.MaxLag)
		rc.in.scratch.correlator.SetStall(rc.timeline.stall)
		suspected, usual := suspect{job: j, cross: 1, way: 1}, [history.NumMeasured]spread{}
		rc.findEvidence(&suspected, &usual)
		if suspected.known != c.known || suspected.file != c.file || !suspected.filesKnown {
			t.Errorf("%s: its traffic is known %v, it is files %v, files are known %v, want %v, %v, true", c.name, suspected.known, suspected.file, suspected.filesKnown, c.known, c.file)
		}
		if got := rc.in.movedOr(j, 7) != 7*j.Size(); got != c.others {
			t.Errorf("%s: what it moves is measured %v, want %v", c.name, got, c.others)
		}
	}
}

// TestFilesOnlyLeaveWhoWaits: without load readings the part of a job's hosts in the time for which hosts wait to send
// is its part of the region's traffic, unless the traffic table has more than its files.
func TestFilesOnlyLeaveWhoWaits(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	for feature, want := range map[history.Feature]float64{history.Write: .6, history.RDMAWrite: 0} {
		rc, j := regionOfTwo(t, g, map[string]float64{"host0>leaf0": 60, "host2>leaf0": 40})
		j.Traffic = history.NewTraffic(rc.in.history.TrafficLength(), 0)
		j.Traffic.Listed[feature] = true
		rc.suspects, rc.timeline.onset = []suspect{{job: j}}, -1
		rc.rules().findWaits()
		if got := rc.suspects[0].share; math.Abs(got-want) > 1e-6 {
			t.Errorf("%s is measured: a part of %.2f, want %.2f", feature, got, want)
		}
	}
}

// laggedOf is a feature before the first region asks for its rise.
func laggedOf(raw []float64) *lagged {
	return &lagged{correlation.Series{Raw: raw}, change{onset: -1}}
}

func TestRise(t *testing.T) {
	var w interval
	level := func(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }
	calm := func(n int) []float64 { return level(n, 1) }
	if r := w.riseAt(laggedOf(append(calm(20), 50, 50, 50)), 20, 0); r != 1 {
		t.Errorf("fifty times as much: %v", r)
	}
	if r := w.riseAt(laggedOf(calm(23)), 20, 0); r != 0 {
		t.Errorf("no change: %v", r)
	}
	if r := w.riseAt(laggedOf(make([]float64, 23)), 20, 0); r != 0 {
		t.Errorf("nothing ever: %v", r)
	}
	if r := w.riseAt(laggedOf(append(calm(10), append(level(10, 50), calm(3)...)...)), 20, 0); r != 0 {
		t.Errorf("it rose ten intervals before: %v", r)
	}
}
