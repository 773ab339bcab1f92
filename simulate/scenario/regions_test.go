package scenario_test

import (
	"math"
	"testing"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/simulate/scenario"
	"github.com/giverny/giverny/topology"
)

// snapshots makes credit stall snapshots of a Gemini fabric's reports, in the simplest
// way.
type snapshots struct {
	graph *topology.Graph
	last  map[schema.PortName]reading
}

type reading struct {
	nanos int64
	value uint64
}

func (s *snapshots) of(step *scenario.Step) *schema.Snapshot {
	n := s.graph.NumLinks()
	series := schema.Series{Metric: schema.CreditStall, Values: make([]float32, n), Valid: schema.NewBitmap(n), Count: n}
	for _, b := range step.Batches {
		for row, port := range b.PortIndex {
			name := b.Ports[port]
			now := reading{b.TimeNanos[row], b.Columns[0].Values[row]}
			if from, seen := s.last[name]; seen {
				links, _ := s.graph.FindPort(name.Device, name.Port)
				percent := 100 * float64((now.value-from.value)&(1<<48-1)) / float64(now.nanos-from.nanos)
				series.Values[links.Egress] = max(series.Values[links.Egress], float32(math.Min(100, percent)))
				series.Valid.Set(int(links.Egress))
			}
			s.last[name] = now
		}
	}
	return &schema.Snapshot{Fabric: s.graph.Fabric(), GraphVersion: s.graph.Version(), Interval: step.Interval, Links: n, Series: []schema.Series{series}}
}

// The regions that a segmenter finds in the reports of the demo's devices, against the
// truth: none in the calm phase; the job's region while it runs, with all its links and
// its cause; a High region due to the failure; none at the end.
func TestRegionsOfTheDemo(t *testing.T) {
	r := newRunner(t, "demo", 1)
	cfg := segment.DefaultConfig()
	cfg.Metrics = []schema.Metric{schema.CreditStall}
	segmenter, err := segment.New(r.Graph(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	snaps := snapshots{r.Graph(), map[schema.PortName]reading{}}
	for step, ok := r.Step(); ok; step, ok = r.Step() {
		regions := segmenter.Step(snaps.of(&step))
		largest, high := 0, 0
		for i, region := range regions {
			if region.Size > regions[largest].Size {
				largest = i
			}
			if region.Severity == schema.High {
				high = max(high, region.Size)
			}
		}
		switch at := time.Duration(step.Interval.StartNanos - start); {
		case at < 18*time.Second || at > 78*time.Second:
			if len(regions) > 0 {
				t.Errorf("%s: %d regions in a calm fabric", at, len(regions))
			}
		case at > 26*time.Second && at < 40*time.Second:
			if len(regions) == 0 {
				t.Errorf("%s: no region while the job heats the fabric", at)
				continue
			}
			links := regions[largest].Links
			cause, share := step.Truth.CauseOf(links)
			if overlap := jaccard(links, step.Truth.Links); overlap < .9 || high > 0 || cause != 0 || share < .9 || step.Truth.Causes[0].Jobs[0] != "103" {
				t.Errorf("%s: the largest of %d regions overlaps the truth by %.2f, cause %d by %.2f, %d High links", at, len(regions), overlap, cause, share, high)
			}
		case at >= 50*time.Second && at < 66*time.Second:
			if high < 20 {
				t.Errorf("%s: no High region after the second failure: %d regions", at, len(regions))
			}
		}
	}
}

func jaccard(region []schema.LinkID, truth []scenario.LinkTruth) float64 {
	in := map[schema.LinkID]bool{}
	for _, l := range region {
		in[l] = true
	}
	both, only := 0, 0
	for _, l := range truth {
		if l.CreditPercent < 5 {
			continue
		}
		if in[l.Link] {
			both++
		} else {
			only++
		}
	}
	return float64(both) / float64(only+len(region))
}
