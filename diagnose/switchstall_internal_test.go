package diagnose

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Stall inside the switches of links that a slow host holds back is the host's too; on other ground, around weaker
// stall or beside a job's region the verdict stays.
func TestInsideTakesTheVerdictAround(t *testing.T) {
	u := newTiedUp(t)
	s := u.stage
	at := slices.Clone(s.graph.LinksAt(u.Device(t, "1,1,1")))
	far := slices.Clone(s.graph.LinksAt(u.Device(t, "5,5,5")))
	for name, c := range map[string]struct {
		around   []schema.LinkID
		severity schema.Severity
		class    schema.CauseClass
		want     schema.CauseClass
	}{
		"slow host":   {at, schema.High, schema.CauseSlowHost, schema.CauseSlowHost},
		"failure":     {at, schema.High, schema.CauseFailure, schema.CauseFailure},
		"job":         {at, schema.High, schema.CauseSystem, schema.CauseIntraApplication},
		"unknown":     {at, schema.High, schema.CauseUnknown, schema.CauseIntraApplication},
		"far":         {far, schema.High, schema.CauseSlowHost, schema.CauseIntraApplication},
		"weaker":      {at, schema.Low, schema.CauseSlowHost, schema.CauseIntraApplication},
		"half beside": {append(slices.Clone(at[:3]), far[:3]...), schema.High, schema.CauseSlowHost, schema.CauseSlowHost},
	} {
		drained := u.Device(t, "1,1,1")
		cases := []regionCase{
			{in: &s.interval, region: &schema.Region{Metric: schema.InqStall, Severity: schema.Medium, Links: at}, weight: make([]float64, len(at)), waits: make([]float64, len(at))},
			{in: &s.interval, region: &schema.Region{Metric: schema.CreditStall, Severity: c.severity, Links: c.around}, totalWeight: 1, weight: make([]float64, len(c.around)), waits: make([]float64, len(c.around)), verdict: verdict{class: c.class}, ends: ends{drain: root.Drain{Device: drained, Fit: 1}}},
		}
		s.memberships.index(cases)
		cases[0].verdict = verdict{class: schema.CauseIntraApplication, accused: 1}
		cases[0].takeOver(cases)
		if got := cases[0].verdict; got.class != c.want {
			t.Errorf("%s: %v, want %v", name, got.class, c.want)
		}
		if taken := cases[0].ends.drain.Device == drained && cases[0].ends.drain.Fit == 1; taken != (c.want == c.class && c.class != schema.CauseIntraApplication) {
			t.Errorf("%s: root taken over: %v", name, taken)
		}
	}
}

// BenchmarkInside is a fabric of Blue Waters' size whose links all stall, in as many regions as possible: a region of
// stall inside switches and one of stalled links on the same ground, each of six switches.
func BenchmarkInside(b *testing.B) {
	s, cases := manyRegions(b)
	s.memberships.index(cases)
	b.ReportAllocs()
	for b.Loop() {
		for i := range cases {
			cases[i].takeOver(cases)
		}
	}
	b.ReportMetric(float64(len(cases)*b.N)/b.Elapsed().Seconds(), "regions/s")
}

func manyRegions(tb testing.TB) (*Stage, []regionCase) {
	g, err := topology.Parse("bw", "torus:24x24x24")
	if err != nil {
		tb.Fatal(err)
	}
	s, err := New(g, DefaultConfig())
	if err != nil {
		tb.Fatal(err)
	}
	const each = 18
	var cases []regionCase
	for _, metric := range []schema.Metric{schema.CreditStall, schema.InqStall} {
		for first := 0; first+each <= g.NumLinks(); first += each {
			region := &schema.Region{Metric: metric, Severity: schema.Medium}
			for l := range each {
				region.Links = append(region.Links, schema.LinkID(first+l))
			}
			cases = append(cases, regionCase{in: &s.interval, region: region, weight: make([]float64, each), waits: make([]float64, each), totalWeight: float64(first), verdict: verdict{class: schema.CauseSlowHost}})
		}
	}
	return s, cases
}

// sameGroundNaive reports whether at least half of the links of the smaller of two regions have an end at a switch of
// the other's links.
func sameGroundNaive(s *Stage, a, b *regionCase) bool {
	if len(a.region.Links) > len(b.region.Links) {
		a, b = b, a
	}
	n := 0
	for _, l := range a.region.Links {
		from, to := s.graph.Ends(l)
		if slices.ContainsFunc(b.region.Links, func(m schema.LinkID) bool {
			x, y := s.graph.Ends(m)
			return x == from || x == to || y == from || y == to
		}) {
			n++
		}
	}
	return float64(n) >= sameGround*float64(len(a.region.Links))
}

// TestAroundAgreesWithPairs: around finds the same region as a comparison with every other.
func TestAroundAgreesWithPairs(t *testing.T) {
	u := newTiedUp(t)
	s, rng := u.stage, rand.New(rand.NewPCG(3, 4))
	for range 50 {
		var cases []regionCase
		for i := range 12 {
			region := &schema.Region{Metric: schema.CreditStall, Severity: schema.Low + schema.Severity(rng.IntN(3))}
			if i%2 == 0 {
				region.Metric = schema.InqStall
			}
			first := rng.IntN(120)
			for l := first; l < first+3+rng.IntN(40); l += 1 + rng.IntN(3) {
				region.Links = append(region.Links, schema.LinkID(l))
			}
			n := len(region.Links)
			cases = append(cases, regionCase{in: &s.interval, pressure: u.p, region: region, weight: make([]float64, n), waits: make([]float64, n), totalWeight: rng.Float64()})
		}
		s.memberships.index(cases)
		for i := range cases {
			var want *regionCase
			for j := range cases {
				if c := &cases[j]; c.region.Metric == schema.CreditStall && c.region.Severity >= cases[i].region.Severity && sameGroundNaive(s, &cases[i], c) && (want == nil || c.totalWeight > want.totalWeight) {
					want = c
				}
			}
			if got := cases[i].around(cases); got != want {
				t.Fatalf("region %d is within another one than comparing all pairs says", i)
			}
		}
	}
}

// TestInsideEndsWhereTheRegionAroundDoes: stall inside switches for which the same job is accused as for the stalled
// links around it has the same root; that for which another is accused keeps its own.
func TestInsideEndsWhereTheRegionAroundDoes(t *testing.T) {
	u := newTiedUp(t)
	s := u.stage
	at := slices.Clone(s.graph.LinksAt(u.Device(t, "1,1,1")))
	own, other := &job{}, &job{}
	drained, beside := u.Device(t, "1,1,1"), u.Device(t, "1,1,2")
	for accused, want := range map[*job]topology.DeviceID{own: drained, other: beside, nil: beside} {
		cases := make([]regionCase, 2)
		for i, metric := range [...]schema.Metric{schema.InqStall, schema.CreditStall} {
			cases[i] = regionCase{in: &s.interval, weight: make([]float64, len(at)), waits: make([]float64, len(at)),
				region:      &schema.Region{Metric: metric, Severity: schema.High, Links: at},
				totalWeight: 1, suspects: []suspect{{job: own}}, nodes: s.graph.Device(drained),
				verdict: verdict{class: schema.CauseSystem, accused: 1}}
		}
		inside := &cases[0]
		inside.nodes, inside.suspects[0].job = s.graph.Device(beside), accused
		if accused == nil {
			inside.verdict.accused = 0
		}
		s.memberships.index(cases)
		inside.takeOver(cases)
		if inside.nodes != s.graph.Device(want) {
			t.Errorf("ends at %s, want %s", inside.nodes.Name, s.graph.Device(want).Name)
		}
	}
}
