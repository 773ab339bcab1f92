package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestWhoseAStandingRegionIs: a region without an onset is caused by its jobs as far as their traffic accounts for it,
// unless its root is a slow link or host; if the others move too little, by the only job without traffic data. A region
// with an onset is judged by that.
func TestWhoseAStandingRegionIs(t *testing.T) {
	type suspects = []suspect
	measured := func(share, cross float64) suspect { return suspect{share: share, cross: cross, known: true} }
	one := suspects{measured(.9, 1), measured(.05, 0)}
	for name, c := range map[string]struct {
		jobs  suspects
		onset int
		back  root.BackPressure
		want  float64 // of the first job
	}{
		"its traffic is all there is":         {one, -1, root.BackPressure{}, jobExplains},
		"at a port that is not full":          {one, -1, root.BackPressure{Root: root.Port{Kind: schema.RootLinkCapacity, Use: 40}}, jobExplains},
		"it shares the port":                  {suspects{measured(.6, 1), measured(.3, .2)}, -1, root.BackPressure{}, jobExplains},
		"it has a small part":                 {suspects{measured(.1, 1), measured(.8, 1)}, -1, root.BackPressure{}, 0},
		"half of what is carried is no job's": {suspects{measured(.5, 1)}, -1, root.BackPressure{}, 0},
		"half of the stall is elsewhere":      {suspects{measured(1, .5)}, -1, root.BackPressure{}, 0},
		"a slow cable":                        {one, -1, root.BackPressure{Root: root.Port{Kind: schema.RootLinkCapacity, Cannot: true}}, 0},
		"a slow host":                         {one, -1, root.BackPressure{Root: root.Port{Kind: schema.RootSlowReceiver}}, 0},
		"it began":                            {one, 4, root.BackPressure{}, 0},
		"not measured, and no other job":      {suspects{{cross: 1}, measured(.1, 0)}, -1, root.BackPressure{}, jobRemains},
		"not measured, beside another":        {suspects{{cross: 1}, {cross: .1}}, -1, root.BackPressure{}, 0},
		"not measured, beside a large one":    {suspects{{cross: 1}, measured(.5, 0)}, -1, root.BackPressure{}, 0},
	} {
		s, err := New(roottest.Graph(t, "fattree:leaves=2,hosts=2,spines=1"), DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.measuresLoad, s.comparable = true, true
		rc := &regionCase{in: &s.interval, region: &schema.Region{ID: 7}, suspects: c.jobs, timeline: timeline{clock: s.history.Clock, onset: c.onset}, back: c.back}
		if got := rc.explains(&rc.suspects[0]); got != c.want {
			t.Errorf("%s: %g for the job, want %g", name, got, c.want)
		}
	}
}

// TestARegionThatCarriesWhatItCarried: with an onset, a region at a full port that carried most of its load before is
// attributed like one without an onset, unless a failure explains it.
func TestARegionThatCarriesWhatItCarried(t *testing.T) {
	full := root.BackPressure{Root: root.Port{Kind: schema.RootLinkCapacity, Use: 97}}
	failed := func(score float64) []nearFailure {
		return []nearFailure{{PlacedFailure: &history.PlacedFailure{}, score: score}}
	}
	for name, c := range map[string]struct {
		load     float64
		more     float64 // percent of the port's load that was added since the onset
		back     root.BackPressure
		failures []nearFailure
		want     float64
	}{
		"the same load":               {1, 0, full, nil, jobExplains},
		"most load was there":         {1.3, 20, full, nil, jobExplains},
		"load was added":              {1.3, 40, full, nil, 0},
		"it carries less":             {.8, 0, full, nil, 0},
		"load unknown":                {0, 0, full, nil, 0},
		"no full port":                {1, 0, root.BackPressure{Root: root.Port{Kind: schema.RootLinkCapacity, Use: 40}}, nil, 0},
		"a link full in bursts":       {1, 0, root.BackPressure{Root: root.Port{Kind: schema.RootLinkCapacity, Use: 60}}, nil, jobExplains},
		"a link that lost rate":       {1, 0, root.BackPressure{Root: root.Port{Kind: schema.RootLinkCapacity, Use: 60, Slower: true}}, nil, 0},
		"a failure explains it":       {1, 20, full, failed(2), 0},
		"a failure elsewhere":         {1, 5, full, failed(2), jobExplains},
		"a failure that does not":     {1, 0, full, failed(-1), jobExplains},
		"a full port that lost rate":  {1, 0, root.BackPressure{Root: root.Port{Kind: schema.RootLinkCapacity, Use: 97, Cannot: true}}, nil, 0},
		"a receiver that is too slow": {1, 0, root.BackPressure{Root: root.Port{Kind: schema.RootSlowReceiver, Use: 97}}, nil, 0},
	} {
		s, err := New(roottest.Graph(t, "fattree:leaves=2,hosts=2,spines=1"), DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.measuresLoad, s.comparable = true, true
		rc := &regionCase{in: &s.interval, region: &schema.Region{ID: 7}, failures: c.failures, suspects: []suspect{{share: .9, cross: 1, known: true}}, timeline: timeline{clock: s.history.Clock, onset: 4}, load: times(c.load), root: rootLoad{link: schema.NoLink, carries: 100, added: c.more}, back: c.back}
		if got := rc.explains(&rc.suspects[0]); got != c.want {
			t.Errorf("%s: %g for the job, want %g", name, got, c.want)
		}
	}
}

// TestWhoseAStandingRegionIsOnATorus: a region without an onset is attributed to its jobs if their traffic accounts for
// it, or to the job without traffic data on whose own ground it lies; not if a single tree leads to one switch, as with
// a slow host.
func TestWhoseAStandingRegionIsOnATorus(t *testing.T) {
	u := newTiedUp(t)
	s := u.stage
	s.measuresLoad = true
	own := &job{Job: &history.Job{Job: schema.Job{ID: "1"}}}
	measured := func(share, cross float64) suspect {
		return suspect{job: own, share: share, cross: cross, known: true}
	}
	other := &job{Job: &history.Job{Job: schema.Job{ID: "2"}}}
	for name, c := range map[string]struct {
		jobs   []suspect
		onset  int
		fit    float64
		theirs bool // another job has nodes at the region's links
		files  bool // the table has little of the links' load
		want   float64
	}{
		"its traffic is all there is":       {jobs: []suspect{measured(.9, 1)}, onset: -1, want: jobExplains},
		"among nodes of others":             {jobs: []suspect{measured(.9, 1)}, onset: -1, theirs: true, want: jobExplains},
		"it has a part":                     {jobs: []suspect{measured(.4, .9), measured(.5, .5)}, onset: -1, want: jobExplains},
		"a small part":                      {jobs: []suspect{measured(.1, .9), measured(.8, .5)}, onset: -1},
		"half of it is no job's":            {jobs: []suspect{measured(.5, 1)}, onset: -1},
		"it began":                          {jobs: []suspect{measured(.9, 1)}, onset: 4},
		"a tree":                            {jobs: []suspect{measured(.9, 1)}, onset: -1, fit: .95},
		"not measured, on its ground":       {jobs: []suspect{{job: own, cross: 1}, measured(.1, 0)}, onset: -1, want: jobRemains},
		"not measured, on others' ground":   {jobs: []suspect{{job: own, cross: 1}}, onset: -1, theirs: true},
		"not measured, beside a large one":  {jobs: []suspect{{job: own, cross: 1}, measured(.5, 0)}, onset: -1},
		"not measured, beside files":        {jobs: []suspect{{job: own, cross: 1}, measured(1, 0)}, onset: -1, files: true, want: jobRemains},
		"not measured, half is elsewhere":   {jobs: []suspect{{job: own, cross: .5}}, onset: -1},
		"not measured, and it began":        {jobs: []suspect{{job: own, cross: 1}}, onset: 2},
		"not measured, a slow host's tree?": {jobs: []suspect{{job: own, cross: 1}}, onset: -1, fit: .9},
	} {
		rc := &regionCase{in: &s.interval, pressure: u.p, region: &schema.Region{ID: 7, Links: []schema.LinkID{0}}, suspects: c.jobs, timeline: timeline{clock: s.history.Clock, onset: c.onset}, ends: ends{drain: root.Drain{Fit: c.fit}}}
		s.comparable = !c.files
		from, _ := s.graph.Ends(0)
		if s.tenants[from] = nil; c.theirs {
			s.tenants[from] = []*job{other}
		}
		if got := rc.explains(&rc.suspects[0]); got != c.want {
			t.Errorf("%s: %g for the job, want %g", name, got, c.want)
		}
	}
}

// TestWhoFillsAStorageNode: a job that writes as much as a full port to a host of no job carries fills it, also if no
// onset shows when it began to.
func TestWhoFillsAStorageNode(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	port := roottest.Link(t, g, "leaf1>host4")
	for name, c := range map[string]struct {
		writes float64 // as a share of the port's capacity
		onset  int
		use    float64 // of the port, percent
		root   string
		want   bool
	}{
		"it does":                  {.6, -1, 97, "leaf1>host4", true},
		"it writes little":         {.1, -1, 97, "leaf1>host4", false},
		"since another time":       {.6, 4, 97, "leaf1>host4", true},
		"full in bursts":           {.6, -1, 65, "leaf1>host4", true},
		"the port to a job's host": {.6, -1, 97, "leaf1>host3", false},
	} {
		p, _ := readings(t, g, nil, map[string]float64{c.root: c.use})
		s, j := oneWriter(t, g, p, 0)
		j.Traffic = history.NewTraffic(20, 0)
		j.Traffic.Set(history.Read, 0, 0)
		j.Traffic.Set(history.Write, 0, c.writes*g.Capacity(port)*60)
		rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{}, timeline: timeline{clock: s.history.Clock, stall: make([]float64, 6), onset: c.onset},
			back: root.BackPressure{Root: root.Port{Link: roottest.Link(t, g, c.root), Kind: schema.RootIncast, Use: c.use}}, root: rootLoad{carries: c.use / 100 * g.Capacity(port)},
			suspects: []suspect{{job: j, cross: 1}}}
		rc.measureSuspects()
		if got := rc.suspects[0].file; got != c.want {
			t.Errorf("%s: its files count: %v, want %v", name, got, c.want)
		}
	}
}

// TestAStandingRegionOfOneJob: without load readings, a region of a grid without an onset is of the job whose traffic alone
// can be there, if that of all jobs near it is measured and nothing near is down.
func TestAStandingRegionOfOneJob(t *testing.T) {
	type suspects = []suspect
	measured := func(share, cross float64) suspect { return suspect{share: share, cross: cross, known: true} }
	failed := func(kind schema.EventKind) []nearFailure {
		return []nearFailure{{PlacedFailure: &history.PlacedFailure{Failure: schema.Failure{Kind: kind}}}}
	}
	one := suspects{measured(.95, 1), measured(.05, .3)}
	for name, c := range map[string]struct {
		net      string
		jobs     suspects
		failures []nearFailure
		onset    int
		want     float64 // of the first job
	}{
		"its traffic is all there is": {"torus:4x4", one, nil, noOnset, jobAlone},
		"a part came back":            {"torus:4x4", one, failed(schema.LinkRestored), noOnset, jobAlone},
		"a part is down":              {"torus:4x4", one, failed(schema.LinkFailed), noOnset, 0},
		"it shares the region":        {"torus:4x4", suspects{measured(.6, 1), measured(.4, 1)}, nil, noOnset, 0},
		"some stall is elsewhere":     {"torus:4x4", suspects{measured(1, .6)}, nil, noOnset, 0},
		"another is not measured":     {"torus:4x4", suspects{measured(1, 1), {cross: .1}}, nil, noOnset, 0},
		"it began":                    {"torus:4x4", one, nil, 4, 0},
		"on a tree":                   {"fattree:leaves=2,hosts=2,spines=1", one, nil, noOnset, 0},
	} {
		s, err := New(roottest.Graph(t, c.net), DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		rc := &regionCase{in: &s.interval, region: &schema.Region{ID: 7}, suspects: c.jobs, failures: c.failures, timeline: timeline{clock: s.history.Clock, onset: c.onset}}
		if got := rc.explains(&rc.suspects[0]); got != c.want {
			t.Errorf("%s: %g for the job, want %g", name, got, c.want)
		}
	}
}
