package segment_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

func drawConfig(t *rapid.T) segment.Config {
	cfg := segmenttest.Kinds()[rapid.IntRange(0, 2).Draw(t, "method")].Config
	cfg.MinLinks = rapid.IntRange(1, 8).Draw(t, "min links")
	cfg.MinMeanPercent = rapid.SampledFrom([]float64{0, 5, 20}).Draw(t, "min mean")
	cfg.Paper.Distance = rapid.IntRange(1, 4).Draw(t, "distance")
	return cfg
}

func TestRegionsAreWhatStepPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, cfg := stalls.DrawGraph(t), drawConfig(t)
		s, err := segment.New(g, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time with used memory
			snap := stalls.Snapshot(map[schema.Metric][]float32{schema.CreditStall: stalls.DrawValues(t, g), schema.PauseRx: stalls.DrawValues(t, g)})
			segmenttest.Check(t, g, cfg, snap, s.Step(snap))
		}
	})
}

// fuzzValue maps a byte to a percentage, or to an invalid value.
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
		graphs = append(graphs, stalls.Fabric(f, spec))
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
	f.Add(byte(2), ramp[245:], whole, []byte{1, 2, 0, 3}) // only invalid values
	f.Add(byte(4), ramp, []byte{0x55}, []byte{2, 3, 5, 4})
	f.Add(byte(5), []byte{90, 90, 90, 5}, []byte{0}, []byte{0, 1, 0, 1}) // all missing
	f.Add(byte(6), []byte{1, 90, 2, 3, 88, 250}, whole, []byte{0, 2, 5, 2})
	f.Fuzz(func(t *testing.T, topo byte, values, valid, config []byte) {
		if len(values) == 0 || len(valid) == 0 || len(config) < 4 {
			return
		}
		g := graphs[int(topo)%len(graphs)]
		cfg := segmenttest.Kinds()[config[0]%3].Config
		cfg.MinLinks, cfg.MinMeanPercent, cfg.Paper.Distance = 1+int(config[1]%32), float64(config[2]%101), 1+int(config[3]%4)
		s := segmenttest.New(t, g, cfg)
		series := schema.Series{Metric: schema.XmitWait, Values: stalls.Blank(g), Valid: schema.NewBitmap(g.NumLinks())}
		for i := range series.Values {
			series.Values[i] = fuzzValue(values[i%len(values)])
			if valid[i/8%len(valid)]&(1<<(i%8)) != 0 {
				series.Valid.Set(i)
				series.Count++
			}
		}
		snap := &schema.Snapshot{Links: g.NumLinks(), Series: []schema.Series{series}}
		first := segmenttest.ToJSON(t, s.Step(snap))
		again := s.Step(snap)
		segmenttest.Check(t, g, cfg, snap, again)
		if segmenttest.ToJSON(t, again) != first {
			t.Errorf("the second step differs from the first")
		}
	})
}
