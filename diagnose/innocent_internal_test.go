package diagnose

import (
	"math"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestFilesCongestByWhatTheyAdd: where neither the region nor its end on a grid carries more than before, file traffic is not the cause,
// whatever it did at the onset.
func TestFilesCongestByWhatTheyAdd(t *testing.T) {
	file := suspect{file: true, known: true}
	for name, c := range map[string]struct {
		suspect       suspect
		load, arrives float64
		against       float64
	}{
		"less everywhere":     {file, .8, .6, jobTooLittle},
		"as much as before":   {file, 1, .6, jobTooLittle / 2},
		"more at the end":     {file, .8, 1.2, 0},
		"more in the region":  {file, 1.3, 0, 0},
		"no load is measured": {file, 0, 0, 0},
		"an exchange":         {suspect{known: true}, .8, .6, 0},
	} {
		rc := regionCase{loadChange: loadChange{load: c.load}, ends: ends{arrives: c.arrives}}
		if got := rc.scores().addsNone(&c.suspect); math.Abs(got-c.against) > 1e-9 {
			t.Errorf("%s: %.2f against it, want %.2f", name, got, c.against)
		}
	}
}

// TestWhatIsReadEndsAtTheReader: where back pressure surely ends at the nodes of a switch, only those who have a node there, or write
// files, send it.
func TestWhatIsReadEndsAtTheReader(t *testing.T) {
	u := newTiedUp(t)
	s, end := u.stage, u.Device(t, "5,2,3")
	s.findRunning()
	here, away := &job{Job: &history.Job{Devices: []topology.DeviceID{end}}}, &job{Job: &history.Job{Devices: []topology.DeviceID{u.Device(t, "1,5,0")}}}
	s.settle(here)
	endsAway := func(c suspect, atNodes float64, full schema.LinkID) float64 {
		rc := regionCase{interval: &s.interval, ends: ends{full: full}}
		rc.endings.OfMeans = true
		rc.endings.AtNodes, rc.endings.Any = atNodes, root.Ending{Found: true, Device: end, Link: schema.NoLink}
		return rc.scores().endsAway(&c)
	}
	for name, c := range map[string]struct{ got, want float64 }{
		"an exchange elsewhere":        {endsAway(suspect{job: away, known: true}, .95, schema.NoLink), jobTooLittle},
		"reads of a job elsewhere":     {endsAway(suspect{job: away, known: true, file: true, feature: history.Read}, .95, schema.NoLink), jobTooLittle},
		"a job there":                  {endsAway(suspect{job: here, known: true}, .95, schema.NoLink), 0},
		"writes of a job elsewhere":    {endsAway(suspect{job: away, known: true, file: true, feature: history.Write}, .95, schema.NoLink), 0},
		"a job without a table":        {endsAway(suspect{job: away}, .95, schema.NoLink), 0},
		"the region waits for a link":  {endsAway(suspect{job: away, known: true}, .95, 12), 0},
		"it may end at a link as well": {endsAway(suspect{job: away, known: true}, .5, schema.NoLink), 0},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%s: %.2f against it, want %.2f", name, c.got, c.want)
		}
	}
}

// TestWritersWaitWhereTheyCongest: a job that writes, none of whose hosts waits, has no place in a region of directed links, though its
// exchange may lead over the root.
func TestWritersWaitWhereTheyCongest(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	for waits, want := range map[string]float64{"host0>leaf0": .9, "host2>leaf0": 0} {
		p, region := readings(t, g, map[string]float64{waits: 60}, nil)
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.p = p
		writer := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: []string{"host0", "host3"}}}}
		other := &job{Job: &history.Job{Job: schema.Job{ID: "2", Nodes: []string{"host2", "host5"}}}}
		for _, j := range []*job{writer, other} {
			j.Place(g)
			s.settle(j)
		}
		rc := &regionCase{interval: &s.interval, region: &schema.Region{Links: region}, waits: []float64{.6}, back: root.BackPressure{Link: schema.NoLink}}
		c := suspect{job: writer, known: true, file: true, filesKnown: true, feature: history.Write, root: true}
		if got := rc.scores().spaceScore(&c); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s waits: a share of %.2f, want %.2f", waits, got, want)
		}
	}
}

// TestTrafficEndsAtHosts: at an incast at a switch, what a job sends ends at a host of it there or, if it writes, at a host of no job.
func TestTrafficEndsAtHosts(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	place := func(id string, nodes ...string) *job {
		j := &job{Job: &history.Job{Job: schema.Job{ID: id, Nodes: nodes}}}
		j.Place(g)
		s.settle(j)
		return j
	}
	here, away := place("1", "host0", "host3"), place("2", "host1", "host2")
	leaf1, _ := g.FindDevice("leaf1")
	for name, c := range map[string]struct {
		suspect suspect
		kind    string
		cannot  bool
	}{
		"a job there":        {suspect{job: here, filesKnown: true}, schema.RootIncast, false},
		"a job elsewhere":    {suspect{job: away, filesKnown: true}, schema.RootIncast, true},
		"it writes":          {suspect{job: away, filesKnown: true, file: true, feature: history.Write}, schema.RootIncast, false},
		"it reads":           {suspect{job: away, filesKnown: true, file: true}, schema.RootIncast, true},
		"files not measured": {suspect{job: away}, schema.RootIncast, false},
		"before a link":      {suspect{job: away, filesKnown: true}, schema.RootLinkCapacity, false},
	} {
		rc := &regionCase{interval: &s.interval, back: root.BackPressure{Link: schema.NoLink, Waits: true, At: leaf1, KindAt: c.kind}}
		if got := rc.cannotEndAt(&c.suspect); got != c.cannot {
			t.Errorf("%s: it cannot end there: %v", name, got)
		}
	}
}
