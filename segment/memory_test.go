package segment_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/internal/test/cputime"
	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/bench"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// oneTree is a congestion tree on a fat tree: the port to a host, and the links that wait for it.
type oneTree struct {
	graph *topology.Graph
	root  schema.LinkID
	links []schema.LinkID // without the root, ascending
}

func newOneTree(t *testing.T) oneTree {
	t.Helper()
	g := topologytest.Parse(t, "f", "fattree:leaves=8,hosts=8,spines=4")
	of := oneTree{graph: g}
	for l := range schema.LinkID(g.NumLinks()) {
		from, to := g.Device(g.Link(l).From).Name, g.Device(g.Link(l).To).Name
		switch {
		case from == "leaf0" && to == "host0":
			of.root = l
		case to == "leaf0" && from[0] == 's':
			of.links = append(of.links, l)
		}
	}
	if len(of.links) != 4 {
		t.Fatalf("%d spines", len(of.links))
	}
	return of
}

// snapshot is an interval with the given stalls of the root and of the links that wait for it.
func (of *oneTree) snapshot(root, others float32) *schema.Snapshot {
	n := of.graph.NumLinks()
	s := schema.Series{Metric: schema.XmitWait, Values: make([]float32, n), Valid: schema.NewBitmap(n), Count: n}
	for l := range n {
		s.Valid.Set(l)
		s.Values[l] = .5 + .1*float32(l%5)
	}
	s.Values[of.root] = root
	for _, l := range of.links {
		s.Values[l] = others
	}
	return &schema.Snapshot{Links: n, GraphVersion: of.graph.Version(), Series: []schema.Series{s}}
}

// sequence takes snapshots one by one.
type sequence struct {
	t         *testing.T
	segmenter *segment.Segmenter
	memory    *segment.Memory
}

func newSequence(t *testing.T, g *topology.Graph, cfg segment.Config) *sequence {
	t.Helper()
	s, err := segment.New(g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &sequence{t, s, segment.NewMemory(g, cfg)}
}

func (s *sequence) step(snap *schema.Snapshot) []schema.Region {
	return s.memory.Step(snap, s.segmenter.Step(snap))
}

func TestMemoryKeepsARegionThatStandsAndNoneThatIsOver(t *testing.T) {
	of := newOneTree(t)
	s := newSequence(t, of.graph, segment.DefaultConfig())
	if got := s.step(of.snapshot(38, 4)); len(got) != 0 {
		t.Fatalf("a region is found that was not there before: %v", got)
	}
	first := s.step(of.snapshot(38, 7))
	if len(first) != 1 || first[0].Size != 5 || first[0].Root == nil || first[0].Root.Link != of.root {
		t.Fatalf("%+v", first)
	}
	links := append([]schema.LinkID{}, first[0].Links...)
	for range 3 {
		kept := s.step(of.snapshot(38, 4))
		if len(kept) != 1 || cmp.Diff(links, kept[0].Links) != "" || kept[0].Root == nil || kept[0].Root.Link != of.root || kept[0].Max != 38 {
			t.Fatalf("kept: %+v", kept)
		}
	}
	if again := s.step(of.snapshot(38, 7)); len(again) != 1 {
		t.Fatalf("found again, beside what was kept: %+v", again)
	}
	for _, over := range []*schema.Snapshot{of.snapshot(38, 1), of.snapshot(.7, .7), of.snapshot(4, 4)} {
		s.step(of.snapshot(38, 7))
		if got := s.step(over); len(got) != 0 {
			t.Errorf("it is over, and kept: %+v", got)
		}
	}
	cfg := segment.DefaultConfig()
	cfg.Method, cfg.MinLinks = segment.Paper, 4
	paper := newSequence(t, of.graph, cfg)
	if paper.step(of.snapshot(38, 30)); len(paper.memory.Step(of.snapshot(38, 4), nil)) != 0 {
		t.Error("the paper's method keeps a region")
	}
}

// A memory that is restored from a saved state, or from stored regions, continues like the original.
func TestMemoryIsSavedAndResumes(t *testing.T) {
	of := newOneTree(t)
	s := newSequence(t, of.graph, segment.DefaultConfig())
	stored := slices.Clone(s.step(of.snapshot(38, 7)))
	saved := s.memory.Save()
	want := s.step(of.snapshot(38, 4))
	loaded, resumed := segment.NewMemory(of.graph, segment.DefaultConfig()), segment.NewMemory(of.graph, segment.DefaultConfig())
	if err := loaded.Load(saved); err != nil {
		t.Fatal(err)
	}
	root := *stored[0].Root
	root.Kind = schema.RootIncast // as set by a diagnosis
	stored[0].Root = &root
	resumed.Resume(of.snapshot(38, 7), stored)
	for name, m := range map[string]*segment.Memory{"loaded": loaded, "resumed": resumed} {
		if diff := cmp.Diff(saved, m.Save()); diff != "" {
			t.Errorf("%s (-saved +again):\n%s", name, diff)
		}
		if diff := cmp.Diff(want, m.Step(of.snapshot(38, 4), nil)); diff != "" {
			t.Errorf("%s (-uninterrupted +gone on):\n%s", name, diff)
		}
	}
	for i := range saved {
		bad := append([]byte{}, saved...)
		bad[i] ^= 4
		if loaded.Load(bad) == nil || loaded.Load(saved[:i]) == nil {
			t.Fatalf("byte %d is damaged, and loads", i)
		}
	}
	other := topologytest.Parse(t, "f", "fattree:leaves=4,hosts=8,spines=4")
	if err := segment.NewMemory(other, segment.DefaultConfig()).Load(saved); err == nil {
		t.Error("a memory of another fabric loads")
	}
}

func TestMemoryFollowsTheGraph(t *testing.T) {
	of := newOneTree(t)
	s := newSequence(t, of.graph, segment.DefaultConfig())
	s.step(of.snapshot(38, 7))
	larger := topologytest.Parse(t, "f", "fattree:leaves=9,hosts=8,spines=4")
	moved := topology.Moved(of.graph, larger)
	s.memory.SetGraph(larger, moved)
	now := oneTree{graph: larger, root: moved[of.root]}
	for _, l := range of.links {
		now.links = append(now.links, moved[l])
	}
	got := s.memory.Step(now.snapshot(38, 4), nil)
	if len(got) != 1 || got[0].Size != 5 || got[0].Root == nil || got[0].Root.Link != now.root {
		t.Errorf("%+v", got)
	}
}

// BenchmarkMemory alternates two storms at different places, so that each step loses all previous regions.
func BenchmarkMemory(b *testing.B) {
	const spec = "fattree:leaves=192,hosts=60,spines=48"
	g := stalls.Fabric(b, spec)
	snapshots := segmenttest.Draw(g, bench.Storm(spec, 4+g.NumLinks()/10_000), 2)
	s, err := segment.New(g, segment.DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	m := segment.NewMemory(g, segment.DefaultConfig())
	var found [2][]schema.Region
	for i, snap := range snapshots {
		for _, r := range s.Step(snap) {
			r.Links = slices.Clone(r.Links)
			found[i] = append(found[i], r)
		}
	}
	b.ReportAllocs()
	began := cputime.Millis(b)
	for i := 0; b.Loop(); i++ {
		m.Step(snapshots[i%2], found[i%2])
	}
	b.ReportMetric((cputime.Millis(b)-began)/float64(b.N), "cpu-ms/op")
}

// without makes links of a snapshot unmeasured.
func without(snap *schema.Snapshot, links ...schema.LinkID) *schema.Snapshot {
	s := &snap.Series[0]
	for _, l := range links {
		s.Valid.Unset(int(l))
		s.Values[l] = 0
		s.Count--
	}
	return snap
}

// A region counts its links that are no longer measured, so that a mean that falls with its hottest links is no relief.
func TestUnreadLinksAreCounted(t *testing.T) {
	of := newOneTree(t)
	s := newSequence(t, of.graph, segment.DefaultConfig())
	if got := s.step(of.snapshot(90, 40)); len(got) != 1 || got[0].Unread != 0 || got[0].Size != 5 {
		t.Fatalf("all are measured: %+v", got)
	}
	for range 2 {
		if got := s.step(without(of.snapshot(90, 40), of.root)); len(got) != 1 || got[0].Unread != 1 || got[0].Mean != 40 {
			t.Errorf("without the hottest: %+v", got)
		}
	}
	if got := s.step(of.snapshot(90, 40)); len(got) != 1 || got[0].Unread != 0 {
		t.Errorf("it is measured again: %+v", got)
	}
}

// Mildly stalled links that are no longer measured do not make a region worse, for as long as they are not; a stall that
// rises does. The same after a restart.
func TestSilenceDoesNotRaiseSeverity(t *testing.T) {
	of := newOneTree(t)
	mild := of.links[:1]
	s := newSequence(t, of.graph, segment.DefaultConfig())
	check := func(when string, got []schema.Region, mean float64, severity schema.Severity) {
		t.Helper()
		unread := 1
		if strings.HasPrefix(when, "all") || when == "without that link" {
			unread = 0
		}
		if len(got) != 1 || got[0].Unread != unread || got[0].Severity != severity || math.Abs(got[0].Mean-mean) > .01 {
			t.Fatalf("%s: %+v; want %s with a mean of %.2f and %d unread", when, got, severity, mean, unread)
		}
	}
	check("all are measured", s.step(of.snapshot(70, 12)), (70+4*12)/5., schema.Medium)
	for range 3 {
		check("one is not", s.step(without(of.snapshot(70, 12), mild...)), (70+4*12)/5., schema.Medium)
	}
	saved := s.memory.Save()
	check("the others rise", s.step(without(of.snapshot(80, 40), mild...)), 50, schema.High)
	check("all are back", s.step(of.snapshot(70, 12)), (70+4*12)/5., schema.Medium)
	if err := s.memory.Load(saved); err != nil {
		t.Fatal(err)
	}
	check("after a restart", s.step(without(of.snapshot(70, 12), mild...)), (70+4*12)/5., schema.Medium)
	s.memory.Resume(of.snapshot(70, 12), s.step(of.snapshot(70, 12)))
	check("resumed", s.step(without(of.snapshot(70, 12), mild...)), (70+4*12)/5., schema.Medium)
	moved := make([]schema.LinkID, of.graph.NumLinks())
	for l := range moved {
		moved[l] = schema.LinkID(l)
	}
	s.memory.SetGraph(of.graph, moved)
	check("another version of the graph", s.step(without(of.snapshot(70, 12), mild...)), (70+4*12)/5., schema.Medium)
	for _, l := range mild {
		moved[l] = schema.NoLink
	}
	s.memory.SetGraph(of.graph, moved)
	check("without that link", s.step(without(of.snapshot(70, 12), mild...)), 26.5, schema.High)
}
