package bench

import (
	"math"
	"math/rand"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

func directedTopologies() map[string]bool {
	all := map[string]bool{}
	for _, f := range directedFabrics {
		all[f.topology] = true
	}
	return all
}

// graphs caches the graphs built by graphOf, by topology; graphs are immutable.
var graphs sync.Map

func graphOf(t testing.TB, set Set) *topology.Graph {
	t.Helper()
	if g, ok := graphs.Load(set.Topology); ok {
		return g.(*topology.Graph)
	}
	g, err := set.Graph()
	if err != nil {
		t.Fatal(err)
	}
	graphs.Store(set.Topology, g)
	return g
}

// A sample is deterministic for its seed, its values are valid for Step, and its
// regions are measured.
func TestSamples(t *testing.T) {
	for _, set := range append(AllSets(), NoisyCube(5)) {
		g := graphOf(t, set)
		one, other := set.Sample(g, 1), set.Sample(g, 2)
		if !reflect.DeepEqual(one, set.Sample(g, 1)) {
			t.Errorf("%s: a seed gives two samples", set.Name)
		}
		if reflect.DeepEqual(one, other) {
			t.Errorf("%s: two seeds give one sample", set.Name)
		}
		for _, s := range []Sample{one, other} {
			for _, r := range s.Snapshot.Series {
				if r.Count != r.Valid.Count() || 100*r.Count < 93*g.NumLinks() {
					t.Errorf("%s: %d values of %d links, counted as %d", set.Name, r.Valid.Count(), g.NumLinks(), r.Count)
				}
			}
			checkTruth(t, set, s)
		}
	}
}

func checkTruth(t *testing.T, set Set, s Sample) {
	t.Helper()
	name, least, mean := set.Name, 20, 6.
	if _, directed := directedTopologies()[set.Topology]; directed && set.Name != "fattree" {
		least, mean = 6, schema.LowPercent // of 12 links, those that were measured
	}
	if len(s.Truth) == 0 {
		t.Errorf("%s: no regions", name)
	}
	for i, r := range s.Truth {
		series := s.Snapshot.Find(r.Metric)
		if series == nil || len(r.Links) < least || !slices.IsSorted(r.Links) || len(slices.Compact(slices.Clone(r.Links))) != len(r.Links) {
			t.Errorf("%s: region %d of %s: %d links", name, i, r.Metric, len(r.Links))
			continue
		}
		sum := 0.
		for _, l := range r.Links {
			if !series.Valid.Has(int(l)) {
				t.Errorf("%s: region %d has link %d, which was not measured", name, i, l)
			}
			sum += float64(series.Values[l])
		}
		if found := sum / float64(len(r.Links)); found < mean {
			t.Errorf("%s: region %d of %d links has a mean of %.1f%%", name, i, len(r.Links), found)
		}
	}
}

// The density of regions is the same on a torus of another size.
func TestLargeCube(t *testing.T) {
	set := LargeCube("torus:48x48x48")
	if n := len(set.Sample(graphOf(t, set), 1).Truth); n < 8 || n > 8*8 {
		t.Errorf("%d regions in a sample of 8 times the size, want 8 to 64", n)
	}
}

// run returns the links from from to to, exclusive.
func run(from, to int) []schema.LinkID {
	var links []schema.LinkID
	for l := from; l < to; l++ {
		links = append(links, schema.LinkID(l))
	}
	return links
}

func truth(links ...[]schema.LinkID) (out []Truth) {
	for _, l := range links {
		out = append(out, Truth{schema.CreditStall, l, schema.NoLink})
	}
	return out
}

func found(links ...[]schema.LinkID) (out []schema.Region) {
	for _, l := range links {
		out = append(out, schema.Region{Metric: schema.CreditStall, Links: l, Size: len(l), Mean: 30})
	}
	return out
}

func TestScore(t *testing.T) {
	a, b := run(0, 100), run(100, 150)
	inq, calm := found(a), found(a)
	inq[0].Metric, calm[0].Mean = schema.InqStall, 4.9
	for _, c := range []struct {
		name  string
		truth []Truth
		found []schema.Region
		want  Result
	}{
		{"nothing of nothing", nil, nil, Result{}},
		{"all", truth(a, b), found(b, a), Result{Score: 1, Precision: 1, Recall: 1, True: 2, Found: 2, FoundLinks: 150}},
		{"none", truth(a), nil, Result{True: 1}},
		{"one too many", truth(a), found(a, b), Result{Score: .5, Precision: 1, Recall: 1, True: 1, Found: 2, Leaked: 1, FoundLinks: 150, BackgroundLinks: 50}},
		{"two as one", truth(a, b), found(run(0, 150)), Result{Score: (1./3 + 0) / 2, Precision: (1. / 3) / 2, Recall: .5, True: 2, Found: 1, FoundLinks: 150}},
		{"two as one, four times the matched", truth(a, run(100, 130)), found(run(0, 130)),
			Result{Score: 30. / 130 / 2, Precision: 30. / 130 / 2, Recall: .5, True: 2, Found: 1, Leaked: 1, FoundLinks: 130}},
		{"one as two", truth(a), found(run(0, 60), run(60, 100)), Result{Score: .3, Precision: 1, Recall: .6, True: 1, Found: 2, FoundLinks: 100}},
		{"half outside", truth(a), found(run(0, 200)), Result{Score: .5, Precision: .5, Recall: 1, True: 1, Found: 1, FoundLinks: 200, BackgroundLinks: 100}},
		{"more than half outside", truth(a), found(run(0, 201)),
			Result{Score: 100. / 201, Precision: 100. / 201, Recall: 1, True: 1, Found: 1, Leaked: 1, FoundLinks: 201, BackgroundLinks: 101}},
		{"the smallest chooses first", truth(a, run(90, 120)), found(run(0, 120)),
			Result{Score: 30. / 120 / 2, Precision: 30. / 120 / 2, Recall: .5, True: 2, Found: 1, Leaked: 1, FoundLinks: 120}},
		{"another metric", truth(a), inq, Result{True: 1, Found: 1, Leaked: 1, FoundLinks: 100, BackgroundLinks: 100}},
		{"negligible", truth(a), calm, Result{True: 1}},
	} {
		got := Score(c.truth, c.found)
		for _, p := range [][2]*float64{{&got.Score, &c.want.Score}, {&got.Precision, &c.want.Precision}, {&got.Recall, &c.want.Recall}} {
			if math.Abs(*p[0]-*p[1]) < 1e-12 {
				*p[0] = *p[1]
			}
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestOracle(t *testing.T) {
	for _, c := range []struct {
		name  string
		truth []Truth
		want  float64
	}{
		{"apart", truth(run(0, 50), run(70, 90)), 1},
		{"two that overlap", truth(run(0, 100), run(80, 180)), (1 + .8) / 2},
		{"one inside the other", truth(run(0, 100), run(20, 60)), (1 + .6) / 2},
		{"a chain", truth(run(0, 100), run(90, 190), run(180, 280)), (1 + 1 + .8) / 3},
		{"two metrics", []Truth{{schema.CreditStall, run(0, 50), schema.NoLink}, {schema.InqStall, run(20, 70), schema.NoLink}}, 1},
	} {
		if got := Oracle(c.truth).Score; math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// No random assignment of pieces beats the oracle.
func TestOracleIsNotBeaten(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	set := setNamed(t, "cube2")
	g := graphOf(t, set)
	for seed := range int64(5) {
		truth := set.Sample(g, seed).Truth
		ceiling := Oracle(truth).Score
		pieces := piecesOf(truth)
		for range 30 {
			for i := range pieces {
				pieces[i].to = pieces[i].of[rng.Intn(len(pieces[i].of))]
			}
			if s := scoreOf(truth, pieces).Score; s > ceiling+1e-12 {
				t.Errorf("seed %d: %v beats the oracle's %v", seed, s, ceiling)
			}
		}
	}
}

func setNamed(t testing.TB, name string) Set {
	t.Helper()
	for _, s := range Sets() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no set %q", name)
	return Set{}
}
