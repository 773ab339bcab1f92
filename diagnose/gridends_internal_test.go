package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestWhatArrivesIsComparedSinceAnOnset: without an onset nothing tells what of the load at a region's end was added.
func TestWhatArrivesIsComparedSinceAnOnset(t *testing.T) {
	u := newTiedUp(t)
	end := u.Device(t, "4,4,4")
	for onset, known := range map[int]bool{3: true, noOnset: false} {
		rc := &regionCase{in: &u.stage.interval, region: &schema.Region{},
			timeline: timeline{clock: u.stage.history.Clock, stall: make([]float64, 4), onset: onset},
			ends:     ends{drain: root.Drain{Device: end, Fit: .8, Grew: true}}}
		for _, l := range u.Graph.LinksAt(end) {
			u.p.Use.Values[l], u.Was[l] = 20, 10
		}
		if arrives, flooded := gridOf(rc).arriving(&rc.ends, u.p); arrives.known != known || flooded != known {
			t.Errorf("onset %d: arrives %+v, added %v", onset, arrives, flooded)
		}
	}
}

// TestAFullLinkComesBeforeTheNodes: traffic that waits for a full link need not end at the nodes of the switch behind
// it.
func TestAFullLinkComesBeforeTheNodes(t *testing.T) {
	tree := root.Drain{Device: 7, Fit: .8}
	for name, c := range map[string]struct {
		ends  ends
		at    topology.DeviceID
		known bool
	}{
		"no tree":           {ends{fullLink: schema.NoLink}, 0, false},
		"a tree":            {ends{fullLink: schema.NoLink, drain: tree}, 7, true},
		"behind a full one": {ends{fullLink: 3, drain: tree}, 7, false},
		"places say another": {ends{fullLink: schema.NoLink, drain: tree, endings: root.Endings{OfMeans: true,
			Any: root.Ending{Found: true, Device: 9, Link: schema.NoLink}}}, 9, true},
	} {
		if at, known := c.ends.endBeyondLinks(); known != c.known || known && at != c.at {
			t.Errorf("%s: ends at %d (%v)", name, at, known)
		}
	}
}

// TestWhoIsExcluded: a job that does not send a tree whose senders are known is no suspect if no known sender does.
func TestWhoIsExcluded(t *testing.T) {
	u := newTiedUp(t)
	var senders, others []topology.DeviceID
	for i := range 9 {
		senders, others = append(senders, topology.DeviceID(31*i)), append(others, topology.DeviceID(17*i+5))
	}
	rc := &regionCase{in: &u.stage.interval, pressure: u.p, region: &schema.Region{}, timeline: timeline{clock: u.stage.history.Clock, onset: -1}, ends: ends{drain: root.Drain{Device: u.Device(t, "3,3,2"), Fit: .98, Senders: senders}}}
	if !gridOf(rc).excludes(&suspect{job: &job{Job: &history.Job{Devices: others}}}) || gridOf(rc).excludes(&suspect{job: &job{Job: &history.Job{Devices: senders}}}) {
		t.Error("who is excluded is not who does not send")
	}
}

// TestAveragesSinceTheOnset: readings are averaged over the last intervals since the onset, without those that were
// lost.
func TestAveragesSinceTheOnset(t *testing.T) {
	u := newTiedUp(t)
	s := u.stage
	s.history.Clock = history.Clock{Duration: 60e9, Now: 9}
	use, stall := s.history.Track(schema.BandwidthUsed), s.history.Track(schema.CreditStall)
	for slot, v := range map[int64]uint8{1: 250, 6: 20, 7: 30, 8: history.LevelMissing, 9: 40} {
		use.Row(slot)[17] = v
		stall.Row(slot)[17] = 10 * min(v, 20)
	}
	for onset, want := range map[int]float64{-1: 0, 9: 0, 8: 16, 7: 14, 6: 12, 0: 12} {
		rc := &regionCase{in: &s.interval, pressure: u.p, region: &schema.Region{}, timeline: timeline{clock: s.history.Clock, stall: make([]float64, 10), onset: onset}}
		p := gridOf(rc).averaged(u.p)
		if got := p.UseOf(17); got != want {
			t.Errorf("onset %d: %v, want %v", onset, got, want)
		}
		if p != u.p && (p.Use != gridOf(rc).averaged(u.p).Use || p.UseOf(18) != -1 || p.Before(17) != 0) {
			t.Errorf("onset %d: not the same means, or of links that were not read", onset)
		}
	}
}

// What a job exchanges or reads, also from elsewhere than its files, goes to its own nodes, what it writes to nodes of
// no job.
func TestWhereAJobsTrafficGoes(t *testing.T) {
	const own, other, free topology.DeviceID = 1, 2, 3
	for _, c := range []struct {
		name          string
		file          bool
		reads, writes float64
		want          topology.DeviceID
	}{
		{"exchange", false, 0, 9, own},
		{"reads files", true, 9, 1, own},
		{"writes files", true, 1, 9, free},
		{"reads from elsewhere", true, 0, 0, own},
	} {
		j := &job{Job: &history.Job{Job: schema.Job{ID: "1"}, Devices: []topology.DeviceID{own}, Traffic: history.NewTraffic(20, 9)}}
		j.Traffic.Set(history.Read, 9, c.reads)
		j.Traffic.Set(history.Write, 9, c.writes)
		s := &Stage{interval: interval{cfg: DefaultConfig(), history: remembersAt(roottest.Graph(t, "torus:4x4"), history.Clock{Duration: 60e9, Now: 9})}}
		s.tenants = [][]*job{own: {j}, other: {{Job: &history.Job{Job: schema.Job{ID: "2"}}}}, free: nil}
		for _, at := range []topology.DeviceID{own, other, free} {
			if got := (&regionCase{in: &s.interval}).receivesAt(&suspect{job: j, file: c.file}, at); (got == 1) != (at == c.want) || got != 0 && got != 1 {
				t.Errorf("%s: device %d receives it: %v", c.name, at, got)
			}
		}
	}
}
