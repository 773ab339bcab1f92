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

// TestWhoHasNoPartInARegion: a job that moves next to nothing of a region's traffic, and whose hosts do not wait to
// send into it, is hardly accused. If its traffic is unknown, only waiting hosts show that.
func TestWhoHasNoPartInARegion(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	own, others := map[string]float64{"host0>leaf0": 60, "leaf0>spine0": 50}, map[string]float64{"host1>leaf0": 60, "leaf0>spine0": 50}
	for name, c := range map[string]struct {
		stalls  map[string]float64
		suspect suspect
		alike   bool // jobs and links are measured alike
		want    float64
	}{
		"it moves much":          {others, suspect{known: true, share: .3}, true, 0},
		"it moves little":        {others, suspect{known: true, share: .035}, true, jobAbsent / 2},
		"next to nothing":        {others, suspect{known: true, share: .01}, true, jobAbsent},
		"files that may pass":    {others, suspect{known: true, file: true, share: .15}, true, jobAbsent / 2},
		"files at the root":      {others, suspect{known: true, file: true, atRoot: true, share: .15}, true, 0},
		"its hosts wait":         {own, suspect{known: true, share: .01}, true, 0},
		"not measured":           {others, suspect{}, true, jobAbsent},
		"not measured, no hosts": {map[string]float64{"leaf0>spine0": 50}, suspect{}, true, 0},
		"no table":               {others, suspect{known: true}, false, 0},
	} {
		p, region := readings(t, g, c.stalls, nil)
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.read = &p.Readings
		s.comparable = c.alike
		j := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: []string{"host0", "host3"}}}}
		j.Place(g)
		c.suspect.job = j
		rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{Links: region}}
		for _, l := range region {
			rc.waits = append(rc.waits, p.StallOf(l)/100)
		}
		if got := directedOf(rc).noPartPenalty(&c.suspect); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: penalty %v, want %v", name, got, c.want)
		}
	}
}

// regionOfTwo is a region of stalled links, percent, where two jobs run: the first, which it returns, at host0 and
// host3, the other at host2 and host5.
func regionOfTwo(t *testing.T, g *topology.Graph, stalls map[string]float64) (*regionCase, *job) {
	t.Helper()
	p, region := readings(t, g, stalls, nil)
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	mine, other := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: []string{"host0", "host3"}}}}, &job{Job: &history.Job{Job: schema.Job{ID: "2", Nodes: []string{"host2", "host5"}}}}
	for _, j := range []*job{mine, other} {
		j.Place(g)
		s.settle(j)
	}
	rc := &regionCase{in: &s.interval, region: &schema.Region{Links: region}}
	for _, l := range region {
		rc.waits = append(rc.waits, p.StallOf(l)/100)
	}
	return rc, mine
}

// TestWhoWaitsToSend: without load readings a job whose hosts hardly wait to send is hardly accused, unless it reads
// what waits at hosts of no job. A job of which nothing else is known, or whose traffic rose at the onset, is accused of
// an incast into which only its hosts wait to send.
func TestWhoWaitsToSend(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	own, others, unlisted := map[string]float64{"host0>leaf0": 60}, map[string]float64{"host0>leaf0": 6, "host2>leaf0": 94}, map[string]float64{"host1>leaf0": 60}
	for name, c := range map[string]struct {
		stalls  map[string]float64
		suspect suspect
		kind    string
		want    float64
	}{
		"all wait is its own":      {own, suspect{}, schema.RootIncast, jobSends * math.Log(1/usualPart)},
		"at a link":                {own, suspect{}, schema.RootLinkCapacity, 0},
		"its traffic is known":     {own, suspect{known: true}, schema.RootIncast, 0},
		"and rose":                 {own, suspect{known: true, evidence: evidence{rise: .5}}, schema.RootIncast, .5 * jobSends * math.Log(1/usualPart)},
		"it rose, at a link":       {own, suspect{known: true, evidence: evidence{rise: .5}}, schema.RootLinkCapacity, 0},
		"others wait":              {others, suspect{known: true}, schema.RootIncast, jobSends * math.Log(.06/usualPart)},
		"others write there, too":  {others, suspect{known: true, file: true, feature: history.Write}, schema.RootIncast, jobSends * math.Log(.12/usualPart)},
		"an unlisted job's":        {unlisted, suspect{known: true}, schema.RootIncast, 0},
		"storage nodes send to it": {unlisted, suspect{known: true, file: true, feature: history.Read}, schema.RootIncast, 0},
		"it writes nothing":        {unlisted, suspect{known: true, file: true, feature: history.Write}, schema.RootIncast, 0},
	} {
		rc, mine := regionOfTwo(t, g, c.stalls)
		c.suspect.job = mine
		rc.suspects, rc.back.Root.Kind = []suspect{c.suspect}, c.kind
		rc.rules().findWaits()
		if got := rc.sendScore(&rc.suspects[0]); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestWhereAnIncastStarts: if no host waits, traffic comes from the switches whose links up wait first. What a job
// reads may come from one with a host of no job, if it has a host at the incast; otherwise such hosts may be an
// unlisted job's.
func TestWhereAnIncastStarts(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=3,spines=1")
	own, half := map[string]float64{"leaf0>spine0": 60, "spine0>leaf3": 80}, map[string]float64{"leaf0>spine0": 40, "leaf2>spine0": 40, "spine0>leaf3": 80}
	others, hardly := map[string]float64{"leaf2>spine0": 80, "spine0>leaf3": 80}, map[string]float64{"leaf2>spine0": 10, "spine0>leaf3": 80}
	const here, there = "leaf1>host3", "leaf3>host9"
	writes := suspect{known: true, feature: history.RDMAWrite}
	for name, c := range map[string]struct {
		stalls         map[string]float64
		suspect        suspect
		kind, root     string
		want, unlisted float64
	}{
		"at its own":             {own, writes, schema.RootIncast, here, 0, 0},
		"half at its own":        {half, writes, schema.RootIncast, here, jobStarts * math.Log(.5/startPart), unlistedWeight},
		"at others":              {others, writes, schema.RootIncast, here, -jobTooLittle, min(mostUnlisted, unlistedWeight/usualPart)},
		"it writes":              {others, suspect{known: true, file: true, feature: history.Write}, schema.RootIncast, here, -jobTooLittle, min(mostUnlisted, unlistedWeight/usualPart)},
		"it reads":               {others, suspect{known: true, file: true, feature: history.Read}, schema.RootIncast, here, 0, 0},
		"it reads by RDMA":       {others, suspect{known: true, feature: history.RDMARead}, schema.RootIncast, here, 0, 0},
		"it may read":            {others, suspect{}, schema.RootIncast, here, 0, 0},
		"it may read, elsewhere": {others, suspect{}, schema.RootIncast, there, -jobTooLittle, min(mostUnlisted, unlistedWeight/usualPart)},
		"hardly anything is":     {hardly, writes, schema.RootIncast, here, 0, 0},
		"a link is too full":     {others, writes, schema.RootLinkCapacity, here, 0, 0},
		"its hosts are there":    {map[string]float64{"leaf1>spine0": 60}, writes, schema.RootIncast, here, 0, 0},
	} {
		rc, mine := regionOfTwo(t, g, c.stalls)
		c.suspect.job = mine
		rc.suspects, rc.back.Root = []suspect{c.suspect}, root.Port{Kind: c.kind, Link: roottest.Link(t, g, c.root)}
		rc.rules().findWaits()
		if got := rc.sendScore(&rc.suspects[0]); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if got := directedOf(rc).unlistedStarts(); math.Abs(got-c.unlisted) > 1e-6 {
			t.Errorf("%s: hosts of no listed job have %v of that, want %v", name, got, c.unlisted)
		}
	}
}

// TestHostsOfNoJobBelowASwitch: they are at the switches below it, too.
func TestHostsOfNoJobBelowASwitch(t *testing.T) {
	g := roottest.Graph(t, "fattree:k=4")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	j := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: []string{"host0", "host1", "host2", "host3", "host4"}}}}
	j.Place(g)
	s.settle(j)
	for name, want := range map[string]bool{"leaf0-0": false, "agg0-0": false, "leaf1-0": true, "agg1-0": true} {
		if at, _ := g.FindDevice(name); s.hasUnlistedHost(at) != want {
			t.Errorf("%s: %v, want %v", name, !want, want)
		}
	}
}

// TestAStartAlone: without load readings the start of a job whose traffic is unknown counts less, if it has no host at
// the switch of an incast, and nothing shows where the incast starts.
func TestAStartAlone(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=3,spines=1")
	end, start := map[string]float64{"spine0>leaf3": 80}, map[string]float64{"leaf0>spine0": 60, "spine0>leaf3": 80}
	for name, c := range map[string]struct {
		stalls     map[string]float64
		kind, root string
		known      bool
		want       float64
	}{
		"elsewhere":             {end, schema.RootIncast, "leaf3>host9", false, jobUnseen},
		"at its host's switch":  {end, schema.RootIncast, "leaf1>host4", false, 0},
		"its traffic is known":  {end, schema.RootIncast, "leaf3>host9", true, 0},
		"the incast has starts": {start, schema.RootIncast, "leaf3>host9", false, 0},
		"a link is too full":    {end, schema.RootLinkCapacity, "leaf3>host9", false, 0},
	} {
		rc, mine := regionOfTwo(t, g, c.stalls)
		rc.suspects, rc.back.Root = []suspect{{job: mine, known: c.known}}, root.Port{Kind: c.kind, Link: roottest.Link(t, g, c.root)}
		rc.rules().findWaits()
		if got := rc.rules().unseenPenalty(&rc.suspects[0], 1); got != c.want {
			t.Errorf("%s: %v against it, want %v", name, got, c.want)
		}
	}
}

// TestAWriterWaits: what a job writes is in a region as far as its hosts wait to send into it, also if a port to a
// storage node is full; what it reads waits elsewhere.
func TestAWriterWaits(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	for name, c := range map[string]struct {
		stalls  map[string]float64
		feature history.Feature
		root    string
		want    float64
	}{
		"its host waits":            {map[string]float64{"host0>leaf0": 50, "host2>leaf0": 50}, history.Write, "", 1},
		"hardly":                    {map[string]float64{"host0>leaf0": 3, "host2>leaf0": 57}, history.Write, "", .05 / filePart},
		"not at all":                {map[string]float64{"host2>leaf0": 60}, history.Write, "", 0},
		"nor for a storage node":    {map[string]float64{"host2>leaf0": 60}, history.Write, "leaf1>host4", 0},
		"it reads":                  {map[string]float64{"host2>leaf0": 60}, history.Read, "", 1},
		"it reads from that node":   {map[string]float64{"host2>leaf0": 60}, history.Read, "leaf1>host4", 1},
		"hosts of no job wait":      {map[string]float64{"host1>leaf0": 60}, history.Write, "", 1},
		"no host does, as measured": {map[string]float64{"leaf0>spine0": 60}, history.Write, "", 1},
	} {
		rc, mine := regionOfTwo(t, g, c.stalls)
		if c.root != "" {
			rc.back.Root.Kind, rc.back.Root.Link = schema.RootIncast, roottest.Link(t, g, c.root)
		}
		writer := suspect{job: mine, file: true, filesKnown: true, feature: c.feature, way: 1}
		if got := rc.spaceScore(&writer); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %v of the region, want %v", name, got, c.want)
		}
	}
}

// TestWhatPassesTheBorder: on a tree, links at a job's border that its exchange does not use have only what it sends or
// fetches outside; on a torus its exchange holds up what passes its nodes, too.
func TestWhatPassesTheBorder(t *testing.T) {
	tree, torus := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1"), roottest.Graph(t, "torus:4x4")
	for _, c := range []struct {
		name    string
		fabric  *topology.Graph
		suspect suspect
		want    float64
	}{
		{"no files", tree, suspect{filesKnown: true, gate: .8}, .9 * .8 * wayWithoutFiles},
		{"files", tree, suspect{filesKnown: true, file: true, gate: .8}, .9 * .8},
		{"files are not measured", tree, suspect{gate: .8}, .9 * .8 * wayUnknown},
		{"its exchange uses them", tree, suspect{filesKnown: true, gate: .8, cross: .8}, .8},
		{"no files, on a torus", torus, suspect{filesKnown: true, gate: .8}, .9 * .8},
	} {
		s, err := New(c.fabric, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		c.suspect.job = &job{Job: &history.Job{}}
		if got := (&regionCase{in: &s.interval, region: &schema.Region{}}).spaceScore(&c.suspect); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v of the region, want %v", c.name, got, c.want)
		}
	}
}

// TestWhatArrivesAtAHostOfNoJob: only traffic with files, or of a job that no table lists, fills the port to a host of
// no job.
func TestWhatArrivesAtAHostOfNoJob(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	rc := &regionCase{in: &s.interval, region: &schema.Region{}}
	rc.back.Root.Kind, rc.back.Root.Link = schema.RootIncast, roottest.Link(t, g, "leaf1>host3")
	for name, c := range map[string]struct {
		suspect suspect
		want    float64
	}{
		"it has file traffic":        {suspect{file: true, filesKnown: true}, 0},
		"it has none":                {suspect{filesKnown: true}, -jobTooLittle},
		"its files are not measured": {suspect{}, 0},
	} {
		c.suspect.job, c.suspect.known = &job{Job: &history.Job{}}, true
		if got := rc.rules().endScore(&c.suspect); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
