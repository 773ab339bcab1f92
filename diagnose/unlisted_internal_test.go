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

// TestHostsOfNoJobShareTheBlame: hosts of no listed job that exchange more over the root since the onset have added to
// it, as the accused job has. A storage node that only sends more is read by some job. If no load is measured, hosts
// that wait have something to send.
func TestHostsOfNoJobShareTheBlame(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	for name, c := range map[string]struct {
		uses, stalls map[string]float64
		file         bool
		want         float64
	}{
		"nothing":            {uses: map[string]float64{"host0>leaf0": 40, "leaf1>host3": 40}},
		"an exchange":        {uses: map[string]float64{"host0>leaf0": 40, "leaf1>host3": 40, "host1>leaf0": 20, "leaf1>host4": 30}, want: unlistedWeight / 2},
		"more than the root": {uses: map[string]float64{"host0>leaf0": 90, "leaf1>host3": 90, "host1>leaf0": 95, "leaf1>host4": 95}, want: unlistedWeight},
		"a storage node":     {uses: map[string]float64{"host0>leaf0": 40, "leaf1>host3": 40, "host1>leaf0": 60}},
		"the job sends 0":    {uses: map[string]float64{"host1>leaf0": 20, "leaf1>host4": 30}, want: unlistedWeight * 20},
		"a host waits":       {stalls: map[string]float64{"host0>leaf0": 60, "host1>leaf0": 20, "leaf0>spine0": 50}, want: unlistedWeight / 3},
		"only another's":     {stalls: map[string]float64{"host1>leaf0": 20, "leaf0>spine0": 50}, want: mostUnlisted},
		"none of them":       {stalls: map[string]float64{"host0>leaf0": 60, "host2>leaf0": 60, "leaf0>spine0": 50}},
		"it may be storage":  {stalls: map[string]float64{"host1>leaf0": 20, "leaf0>spine0": 50}, file: true},
	} {
		p, region := readings(t, g, c.stalls, c.uses)
		p.Before = func(schema.LinkID) float64 { return 0 }
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.read = &p.Readings
		s.history.Clock.Duration, s.measuresLoad = 60e9, c.uses != nil
		culprit, other := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: []string{"host0", "host3"}}}}, &job{Job: &history.Job{Job: schema.Job{ID: "2", Nodes: []string{"host2", "host5"}}}}
		for _, j := range []*job{culprit, other} {
			j.Place(g)
			s.settle(j)
		}
		rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{Links: region}, suspects: []suspect{{job: culprit, known: true, file: c.file, filesKnown: true}}, root: rootLoad{link: roottest.Link(t, g, "leaf0>spine0"), added: .8 * g.Capacity(roottest.Link(t, g, "leaf0>spine0"))}}
		for _, l := range region {
			rc.waits = append(rc.waits, p.StallOf(l)/100)
		}
		rc.rules().findWaits()
		if got := rc.rules().unlistedPart(1); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %v times the blame of the accused, want %v", name, got, c.want)
		}
	}
}

// TestAReceiverAtItsLineRate: hosts of no job that wait send what a job reads by RDMA, if that fills the ports to its
// hosts, of which one is at the incast.
func TestAReceiverAtItsLineRate(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	p, region := readings(t, g, map[string]float64{"host1>leaf0": 20, "leaf0>spine0": 50, "spine0>leaf1": 50}, nil)
	p.Use, p.Rate = nil, nil
	full := g.Capacity(roottest.Link(t, g, "leaf1>host3"))
	for name, c := range map[string]struct {
		nodes   []string
		feature history.Feature
		moves   float64 // of what the ports to its hosts carry
		want    float64
	}{
		"it reads all it can":      {[]string{"host3"}, history.RDMARead, 1, 0},
		"it reads less":            {[]string{"host3"}, history.RDMARead, .8, mostUnlisted},
		"it writes":                {[]string{"host3"}, history.RDMAWrite, 1, mostUnlisted},
		"its hosts are not there":  {[]string{"host2"}, history.RDMARead, 1, mostUnlisted},
		"one of two reads so much": {[]string{"host3", "host4"}, history.RDMARead, .5, mostUnlisted},
	} {
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.history.Clock.Duration = 60e9
		j := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: c.nodes}, Traffic: &history.Traffic{}}}
		j.Place(g)
		s.settle(j)
		other := &job{Job: &history.Job{Job: schema.Job{ID: "2", Nodes: []string{"host5", "host4"}}}}
		other.Place(g)
		s.settle(other)
		j.recent = cachedVolume{known: true, volume: volume{all: 60 * c.moves * float64(len(c.nodes)) * full}}
		rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{Links: region}, suspects: []suspect{{job: j, known: true, filesKnown: true, feature: c.feature}}}
		rc.back = s.finder.Follow(p, &schema.Region{Links: region[1:]}, []float64{50, 50})
		for _, l := range region {
			rc.waits = append(rc.waits, p.StallOf(l)/100)
		}
		rc.rules().findWaits()
		if got := rc.rules().unlistedPart(1); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %v times the blame of the accused, want %v (%+v)", name, got, c.want, rc.back)
		}
	}
}

// TestLinksWithoutReadingsAreNoEvidence: where only switches report, nothing shows that hosts of no job send what
// arrives at one of them, whatever the accused is measured to write.
func TestLinksWithoutReadingsAreNoEvidence(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	port := roottest.Link(t, g, "leaf1>host4")
	for name, writes := range map[string]float64{"not measured": 0, "a small write": .2, "all of it": .8} {
		p, _ := readings(t, g, nil, map[string]float64{"leaf1>host4": 80, "leaf1>host3": 40})
		for l := range schema.LinkID(g.NumLinks()) {
			if from, _ := g.Ends(l); !g.IsSwitch(from) {
				p.Use.Valid.Unset(int(l))
			}
		}
		p.Before = func(schema.LinkID) float64 { return 0 }
		s, j := oneWriter(t, g, p, writes*g.Capacity(port))
		rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{}, suspects: []suspect{{job: j, known: true, file: writes > 0, filesKnown: writes > 0}}, root: rootLoad{link: port, added: .8 * g.Capacity(port)}}
		if got := rc.rules().unlistedPart(1); got != 0 {
			t.Errorf("%s: %v times the blame of the accused", name, got)
		}
	}
}

// TestWritesTakeThePlaceOfAnExchange: a job that writes as much as was added to the port of a host of no job may send no
// more than before, as it exchanges less. Hosts of no job that answer reads, and so send a little more, are not its
// better.
func TestWritesTakeThePlaceOfAnExchange(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	port := roottest.Link(t, g, "leaf1>host4")
	for name, c := range map[string]struct{ sends, writes, want float64 }{
		"all of it":             {80, .8, 0},
		"more than it sends":    {40, .8, .05 / .4},
		"others may have added": {80, .2, .05 / .2},
	} {
		p, _ := readings(t, g, nil, map[string]float64{"host0>leaf0": c.sends, "host1>leaf0": 5, "leaf1>host4": 80})
		p.Before = func(l schema.LinkID) float64 {
			if l == roottest.Link(t, g, "host0>leaf0") {
				return c.sends
			}
			return 0
		}
		s, j := oneWriter(t, g, p, c.writes*g.Capacity(port))
		rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{}, suspects: []suspect{{job: j, known: true, file: true, filesKnown: true}}, root: rootLoad{link: port, added: .8 * g.Capacity(port)}}
		if got := rc.rules().unlistedPart(1); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %v times the blame of the accused, want %v", name, got, c.want)
		}
	}
}

// TestWritersWait: where traffic arrives at a host of no job, hosts of no listed job that wait to send are no part of
// what the accused writes.
func TestWritersWait(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	port := roottest.Link(t, g, "leaf1>host4")
	for name, c := range map[string]struct {
		stalls map[string]float64
		want   float64
	}{
		"the accused":   {map[string]float64{"host0>leaf0": 60, "leaf0>spine0": 50}, 0},
		"both":          {map[string]float64{"host0>leaf0": 60, "host1>leaf0": 30}, .5},
		"others' hosts": {map[string]float64{"host1>leaf0": 60}, mostUnlisted},
	} {
		p, region := readings(t, g, c.stalls, map[string]float64{"leaf1>host4": 80})
		p.Before = func(schema.LinkID) float64 { return 0 }
		s, j := oneWriter(t, g, p, g.Capacity(port))
		rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{Links: region}, back: root.BackPressure{Root: root.Port{Link: port, Kind: schema.RootIncast, Use: 80}},
			suspects: []suspect{{job: j, known: true, file: true, filesKnown: true}}, root: rootLoad{link: port, added: .8 * g.Capacity(port)}}
		for _, l := range region {
			rc.waits = append(rc.waits, p.StallOf(l)/100)
		}
		if got := rc.rules().unlistedPart(1); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %v times the blame of the accused, want %v", name, got, c.want)
		}
	}
}

// oneWriter returns a stage that knows one job, on hosts 0 and 3, which writes so many bytes/s.
func oneWriter(t *testing.T, g *topology.Graph, p *root.Pressure, writes float64) (*Stage, *job) {
	t.Helper()
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s.read = &p.Readings
	s.history.Clock.Duration, s.measuresLoad = 60e9, true
	j := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: []string{"host0", "host3"}}, Traffic: &history.Traffic{}}}
	j.Place(g)
	s.settle(j)
	j.recent = cachedVolume{known: true, volume: volume{files: writes * 60}}
	return s, j
}
