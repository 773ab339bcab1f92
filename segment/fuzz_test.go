package segment

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// reporter is what testing and rapid have in common.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// checkRegions checks all that Step promises of its result, whatever the method.
func checkRegions(t reporter, g *topology.Graph, cfg Config, snap *schema.Snapshot, regions []schema.Region) {
	t.Helper()
	for i := range regions {
		r := &regions[i]
		if i > 0 && !inOrder(cfg, snap, &regions[i-1], r) {
			t.Errorf("region %d, %d links of %s from %d, stands before region %d, %d links of %s from %d", i-1, regions[i-1].Size,
				regions[i-1].Metric, regions[i-1].Links[0], i, r.Size, r.Metric, r.Links[0])
		}
		if err := checkRegion(g, cfg, snap.Find(r.Metric), r); err != nil {
			t.Errorf("region %d of %s: %v", i, r.Metric, err)
		}
	}
	checkShared(t, cfg, regions)
}

// inOrder is the order of results: metric, size, links.
func inOrder(cfg Config, snap *schema.Snapshot, a, b *schema.Region) bool {
	if a.Metric != b.Metric {
		order := cfg.Metrics
		if len(order) == 0 {
			for i := range snap.Series {
				order = append(order, snap.Series[i].Metric)
			}
		}
		return slices.Index(order, a.Metric) < slices.Index(order, b.Metric)
	}
	return a.Size > b.Size || a.Size == b.Size && slices.Compare(a.Links, b.Links) < 0
}

// reading is what a value counts as: a percentage, or missing.
func reading(s *schema.Series, l schema.LinkID) (float64, bool) {
	v := float64(s.Values[l])
	if !s.Valid.Has(int(l)) || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, false
	}
	return min(max(v, 0), 100), true
}

func checkRegion(g *topology.Graph, cfg Config, series *schema.Series, r *schema.Region) error {
	if series == nil || !r.Metric.IsStall() {
		return fmt.Errorf("its metric is not a stall in the snapshot")
	}
	sum, highest := 0., 0.
	for i, l := range r.Links {
		if i > 0 && r.Links[i-1] >= l {
			return fmt.Errorf("link %d stands before %d", r.Links[i-1], l)
		}
		v, ok := reading(series, l)
		if !ok {
			return fmt.Errorf("link %d was not measured", l)
		}
		sum += v
		highest = max(highest, v)
	}
	mean := sum / float64(len(r.Links))
	switch {
	case r.Size != len(r.Links) || r.Size < cfg.MinLinks:
		return fmt.Errorf("size %d of %d links, want at least %d", r.Size, len(r.Links), cfg.MinLinks)
	case !(math.Abs(r.Mean-mean) <= 1e-9*mean) || !(r.Mean >= cfg.MinMeanPercent):
		return fmt.Errorf("mean %v, want %v and at least %v", r.Mean, mean, cfg.MinMeanPercent)
	case r.Max != highest:
		return fmt.Errorf("max %v, want %v", r.Max, highest)
	case r.Severity != schema.SeverityOf(r.Mean):
		return fmt.Errorf("severity %s at %v%%", r.Severity, r.Mean)
	case (r.Box != nil) != (g.Grid() != nil):
		return fmt.Errorf("box %v", r.Box)
	}
	if followsBackPressure(g, cfg) {
		return nil // parts of one exchange may have a full port between them, which does not stall
	}
	if n := reached(g, cfg, series, r); n != r.Size {
		return fmt.Errorf("from link %d only %d of %d links are reached", r.Links[0], n, r.Size)
	}
	return nil
}

// reached counts the links of a region that a walk from its first one comes to.
// A step leads to a link that shares a switch and is of the region or missing;
// under the paper's method, to one of the region within delta.
func reached(g *topology.Graph, cfg Config, series *schema.Series, r *schema.Region) int {
	inside, seen := make([]bool, g.NumLinks()), make([]bool, g.NumLinks())
	for _, l := range r.Links {
		inside[l] = true
	}
	seen[r.Links[0]] = true
	n, rest := 0, slices.Clone(r.Links)
	for queue := []schema.LinkID{r.Links[0]}; len(queue) > 0; queue = queue[1:] {
		if inside[queue[0]] {
			n++
		}
		rest = slices.DeleteFunc(rest, func(l schema.LinkID) bool { return seen[l] })
		for _, l := range within(g, cfg, queue[0], rest) {
			_, measured := reading(series, l)
			if !seen[l] && (inside[l] || cfg.Method == Statistical && !measured) {
				seen[l] = true
				queue = append(queue, l)
			}
		}
	}
	return n
}

// within lists what one step of reached leads to; of the region at least what is left to reach.
func within(g *topology.Graph, cfg Config, from schema.LinkID, rest []schema.LinkID) []schema.LinkID {
	if cfg.Method == Statistical {
		return g.AppendNeighbours(nil, from)
	}
	if g.Grid() != nil {
		return slices.DeleteFunc(slices.Clone(rest), func(l schema.LinkID) bool { return g.L1(from, l) > cfg.Paper.Distance })
	}
	near := []schema.LinkID{from}
	seen := map[schema.LinkID]bool{from: true}
	begin := 0
	for range cfg.Paper.Distance {
		end := len(near)
		for _, l := range near[begin:end] {
			for _, k := range g.AppendNeighbours(nil, l) {
				if !seen[k] {
					seen[k] = true
					near = append(near, k)
				}
			}
		}
		begin = end
	}
	return near
}

// checkShared checks that regions are disjoint, or with overlap, that no two are
// the same.
func checkShared(t reporter, cfg Config, regions []schema.Region) {
	t.Helper()
	type place struct {
		metric schema.Metric
		link   schema.LinkID
	}
	owner := map[place]int{}
	for i, r := range regions {
		for j, q := range regions[:i] {
			if q.Metric == r.Metric && slices.Equal(q.Links, r.Links) {
				t.Errorf("regions %d and %d are the same", j, i)
			}
		}
		for _, l := range r.Links {
			at := place{r.Metric, l}
			if j, taken := owner[at]; taken && !cfg.Overlap {
				t.Fatalf("link %d is of region %d and %d", l, j, i)
			}
			owner[at] = i
		}
	}
}

// drawGraph draws a small fabric: one of the usual, or any set of cables, with
// hosts, parallel ones, and some from a switch to itself.
func drawGraph(t *rapid.T) *topology.Graph {
	side := rapid.IntRange(2, 5)
	few := rapid.IntRange(1, 4)
	spec := ""
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		spec = fmt.Sprintf("torus:%dx%dx%d", side.Draw(t, "x"), side.Draw(t, "y"), side.Draw(t, "z"))
	case 1:
		spec = fmt.Sprintf("mesh:%dx%d", side.Draw(t, "x"), side.Draw(t, "y"))
	case 2:
		spec = fmt.Sprintf("fattree:leaves=%d,hosts=%d,spines=%d", few.Draw(t, "leaves"), few.Draw(t, "hosts"), few.Draw(t, "spines"))
	case 3:
		spec = fmt.Sprintf("dragonfly:groups=%d,routers=%d,hosts=%d", 1+few.Draw(t, "groups"), few.Draw(t, "routers"), few.Draw(t, "hosts"))
	default:
		return drawCables(t)
	}
	g, err := topology.Parse("drawn", spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func drawCables(t *rapid.T) *topology.Graph {
	b := topology.NewBuilder("drawn")
	if rapid.Bool().Draw(t, "duplex") {
		b.SetDuplex()
	}
	devices := rapid.IntRange(2, 12).Draw(t, "devices")
	for d := range devices {
		b.Device(topology.Device{Name: fmt.Sprint("d", d), Kind: topology.DeviceKind(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "device")), Level: -1, Group: -1})
	}
	end := rapid.IntRange(0, devices-1)
	for i := range rapid.IntRange(1, 40).Draw(t, "cables") {
		b.Both(topology.Link{From: topology.DeviceID(end.Draw(t, "from")), FromPort: fmt.Sprint("a", i),
			To: topology.DeviceID(end.Draw(t, "to")), ToPort: fmt.Sprint("z", i), Class: topology.ClassSwitch, Dim: -1})
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// drawValues draws patches, noise and holes, or anything at all.
func drawValues(t *rapid.T, g *topology.Graph) []float32 {
	n := g.NumLinks()
	if rapid.IntRange(0, 3).Draw(t, "any") == 0 {
		return rapid.SliceOfN(rapid.Float32(), n, n).Draw(t, "values")
	}
	noise := rapid.SampledFrom([]float32{0, .1, 1, 5}).Draw(t, "noise")
	values := rapid.SliceOfN(rapid.Float32Range(0, noise), n, n).Draw(t, "noises")
	for range rapid.IntRange(0, 4).Draw(t, "patches") {
		first := schema.LinkID(rapid.IntRange(0, n-1).Draw(t, "first"))
		level := rapid.Float32Range(-10, 100).Draw(t, "level")
		for _, l := range blob(g, first, rapid.IntRange(1, 30).Draw(t, "links")) {
			values[l] += level
		}
	}
	return values
}

func drawConfig(t *rapid.T) Config {
	cfg := kinds()[rapid.IntRange(0, 2).Draw(t, "method")].cfg
	cfg.MinLinks = rapid.IntRange(1, 8).Draw(t, "min links")
	cfg.MinMeanPercent = rapid.SampledFrom([]float64{0, 5, 20}).Draw(t, "min mean")
	cfg.Paper.Distance = rapid.IntRange(1, 4).Draw(t, "distance")
	return cfg
}

func TestRegionsAreWhatStepPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, cfg := drawGraph(t), drawConfig(t)
		s, err := New(g, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second on used memory
			snap := snapshotOf(map[schema.Metric][]float32{schema.CreditStall: drawValues(t, g), schema.PauseRx: drawValues(t, g)})
			checkRegions(t, g, cfg, snap, s.Step(snap))
		}
	})
}

// fuzzValue spreads a byte over the percentages, and over what is none.
func fuzzValue(b byte) float32 {
	switch b {
	case 255:
		return float32(math.NaN())
	case 254:
		return float32(math.Inf(1))
	case 253:
		return float32(math.Inf(-1))
	case 252:
		return -7
	case 251:
		return 1e30
	case 250:
		return 1e-42
	}
	return float32(b) * .4
}

func FuzzStep(f *testing.F) {
	var graphs []*topology.Graph
	for _, spec := range []string{"torus:4x4x4", "torus:2x3", "torus:9", "mesh:5x4", "fattree:k=4", "fattree:leaves=3,hosts=2,spines=2", "dragonfly:groups=4,routers=2,hosts=1"} {
		graphs = append(graphs, parse(f, spec))
	}
	ramp := make([]byte, 256)
	for i := range ramp {
		ramp[i] = byte(i)
	}
	whole := []byte{0xff}
	f.Add(byte(0), []byte{0}, whole, []byte{1, 4, 5, 2})                                                                                  // calm
	f.Add(byte(0), []byte{80}, whole, []byte{0, 4, 5, 2})                                                                                 // all hot
	f.Add(byte(0), slices.Concat(slices.Repeat([]byte{25}, 96), slices.Repeat([]byte{110}, 96)), []byte{0xff, 0xfb}, []byte{2, 20, 5, 2}) // two that touch, with holes
	f.Add(byte(0), []byte{0, 60, 100, 160}, whole, []byte{2, 1, 0, 1})                                                                    // sums
	f.Add(byte(1), ramp, whole, []byte{1, 1, 0, 1})
	f.Add(byte(2), ramp[245:], whole, []byte{1, 2, 0, 3}) // nothing but what is no percentage
	f.Add(byte(4), ramp, []byte{0x55}, []byte{2, 3, 5, 4})
	f.Add(byte(5), []byte{90, 90, 90, 5}, []byte{0}, []byte{0, 1, 0, 1}) // all missing
	f.Add(byte(6), []byte{1, 90, 2, 3, 88, 250}, whole, []byte{0, 2, 5, 2})
	f.Fuzz(func(t *testing.T, topo byte, values, valid, config []byte) {
		if len(values) == 0 || len(valid) == 0 || len(config) < 4 {
			return
		}
		g := graphs[int(topo)%len(graphs)]
		cfg := kinds()[config[0]%3].cfg
		cfg.MinLinks, cfg.MinMeanPercent, cfg.Paper.Distance = 1+int(config[1]%32), float64(config[2]%101), 1+int(config[3]%4)
		s := newSegmenter(t, g, cfg)
		series := schema.Series{Metric: schema.XmitWait, Values: blank(g), Valid: schema.NewBitmap(g.NumLinks())}
		for i := range series.Values {
			series.Values[i] = fuzzValue(values[i%len(values)])
			if valid[i/8%len(valid)]&(1<<(i%8)) != 0 {
				series.Valid.Set(i)
				series.Count++
			}
		}
		snap := &schema.Snapshot{Links: g.NumLinks(), Series: []schema.Series{series}}
		first := toJSON(t, s.Step(snap))
		again := s.Step(snap)
		checkRegions(t, g, cfg, snap, again)
		if toJSON(t, again) != first {
			t.Errorf("the second step differs from the first")
		}
	})
}
