package hostping

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Baseline is the measurements of idle, healthy hosts of a model. It keeps a row per run, so that runs and hosts merge in
// any order and one bad host among good ones has no effect (section 4.3 takes it "on a batch of idle hosts").
type Baseline struct {
	Version    int            `json:"version"` // BaselineVersion
	Model      string         `json:"model"`   // of the graphs it was measured on
	LargeBytes int            `json:"large_bytes"`
	Runs       int            `json:"runs"` // merged so far
	Pairs      []PairBaseline `json:"pairs"`
}

// BaselineVersion is the format version.
const BaselineVersion = 1

// maxBaselineRuns bounds the rows of a pair; the oldest are dropped.
const maxBaselineRuns = 64

// PairBaseline is one pair's samples, one per run.
type PairBaseline struct {
	Pair
	Links         []string  `json:"links"`      // its path
	LatencyMicros []float64 `json:"latency_us"` // of a small message
	Gbps          []float64 `json:"gbps"`
}

// Typical returns a pair's medians over the runs, which are robust to one bad host among three.
func (p *PairBaseline) Typical() (latencyMicros, gbps float64) {
	return Median(p.LatencyMicros), Median(p.Gbps)
}

// NewBaseline returns the baseline of one run.
func NewBaseline(g *Graph, largeBytes int, m []Measured) (Baseline, error) {
	b := Baseline{Version: BaselineVersion, Model: g.Model, LargeBytes: largeBytes, Runs: 1, Pairs: []PairBaseline{}}
	for _, path := range g.Paths {
		for i := range m {
			if m[i].Pair == path.Pair && m[i].OK() {
				b.Pairs = append(b.Pairs, PairBaseline{Pair: path.Pair, Links: slices.Clone(path.Links), LatencyMicros: []float64{m[i].LatencyMicros}, Gbps: []float64{m[i].Gbps}})
			}
		}
	}
	if len(b.Pairs) == 0 {
		return b, errors.New("baseline: no pair could be measured")
	}
	return b, nil
}

// Merge adds the runs of another baseline of the same model. It does not modify its arguments.
func (b *Baseline) Merge(other *Baseline) (Baseline, error) {
	switch {
	case b.Model != other.Model:
		return Baseline{}, fmt.Errorf("baseline of %s cannot be merged with one of %s: use one file per model", b.Model, other.Model)
	case b.LargeBytes != other.LargeBytes:
		return Baseline{}, fmt.Errorf("baseline with messages of %d bytes cannot be merged with one of %d: use one file per size", b.LargeBytes, other.LargeBytes)
	}
	merged := Baseline{Version: BaselineVersion, Model: b.Model, LargeBytes: b.LargeBytes, Runs: b.Runs + other.Runs}
	for _, from := range []*Baseline{b, other} {
		for _, p := range from.Pairs {
			at := slices.IndexFunc(merged.Pairs, func(q PairBaseline) bool { return q.Pair == p.Pair })
			if at < 0 {
				merged.Pairs = append(merged.Pairs, PairBaseline{Pair: p.Pair, Links: slices.Clone(p.Links)})
				at = len(merged.Pairs) - 1
			}
			q := &merged.Pairs[at]
			q.LatencyMicros = newest(slices.Concat(q.LatencyMicros, p.LatencyMicros))
			q.Gbps = newest(slices.Concat(q.Gbps, p.Gbps))
		}
	}
	return merged, nil
}

func newest(samples []float64) []float64 { return samples[max(0, len(samples)-maxBaselineRuns):] }

// ParseBaseline reads the JSON of a baseline.
func ParseBaseline(text []byte) (Baseline, error) {
	var b Baseline
	if err := json.Unmarshal(text, &b); err != nil {
		return b, fmt.Errorf("not a baseline written by giverny hostping baseline: %w; create it with that command, or name another file", err)
	}
	if b.Version != BaselineVersion {
		return b, fmt.Errorf("baseline of version %d, want %d: measure it again with giverny hostping baseline", b.Version, BaselineVersion)
	}
	if b.LargeBytes <= 1 || len(b.Pairs) == 0 {
		return b, errors.New("baseline without pairs: measure it again with giverny hostping baseline")
	}
	for _, p := range b.Pairs {
		bad := func(v float64) bool { return !(v > 0) || math.IsInf(v, 0) }
		if len(p.Gbps) == 0 || len(p.LatencyMicros) == 0 || slices.ContainsFunc(p.Gbps, bad) || slices.ContainsFunc(p.LatencyMicros, bad) {
			return b, fmt.Errorf("baseline of %s to %s: want latencies and rates above 0; measure it again with giverny hostping baseline", p.RNIC, p.Endpoint)
		}
	}
	return b, nil
}

// Fits returns an error if a baseline cannot be used for a host. A host that lacks some of the baseline's devices is
// judged by the others; pairs in both must have the same links.
func (b *Baseline) Fits(g *Graph) error {
	if b.Model == g.Model {
		return nil
	}
	if product(b.Model) != product(g.Model) {
		return fmt.Errorf("the baseline is of another model (%s) than this host (%s): measure one on idle hosts of this model with giverny hostping baseline", b.Model, g.Model)
	}
	links := map[Pair][]string{}
	for _, p := range b.Pairs {
		links[p.Pair] = p.Links
	}
	for _, p := range g.Paths {
		if have, ok := links[p.Pair]; !ok || !sameEnds(have, p.Links) {
			return fmt.Errorf("the baseline is of another structure (%s) than this host (%s): %s to %s has other links; measure one on hosts of this model with giverny hostping baseline", b.Model, g.Model, p.RNIC, p.Endpoint)
		}
	}
	return nil
}

// sameEnds reports whether a path's links are a subset of earlier ones: where a device vanished, two links may have
// merged into one.
func sameEnds(had, has []string) bool {
	for _, link := range has {
		if !slices.Contains(had, link) {
			return false
		}
	}
	return len(has) > 0
}

// product is the part of a model's name before its structure.
func product(model string) string {
	name, _, _ := strings.Cut(model, " #")
	return name
}

// Median of samples, which are not modified; 0 if there are none.
func Median(samples []float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.Clone(samples)
	slices.Sort(sorted)
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
