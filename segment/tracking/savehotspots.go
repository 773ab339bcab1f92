package tracking

import (
	"fmt"
	"math"

	"github.com/giverny/giverny/internal/codec"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Save returns the state, for LoadHotspots.
func (h *Hotspots) Save() []byte { return format.Seal(h.code) }

// LoadHotspots restores saved Hotspots. It fails if the data is damaged, in another
// format, with other thresholds, or of another version of the graph.
func LoadHotspots(g *topology.Graph, cfg HotspotConfig, saved []byte) (*Hotspots, error) {
	h, err := NewHotspots(g, cfg)
	if err != nil {
		return nil, err
	}
	if err := format.Open(saved, h.code); err != nil {
		return nil, fmt.Errorf("tracking: load the hotspots of fabric %s: %w", g.Fabric(), err)
	}
	return h, nil
}

func (h *Hotspots) code(c *codec.Coder) {
	if version := h.graphVersion; c.Version() > 2 {
		if c.Uint(&version, math.MaxUint64); version != h.graphVersion && !c.Failed() {
			c.Fail(otherVersion(version, h.graphVersion))
		}
	}
	numLinks, thresholds := h.numLinks, len(h.cfg.ThresholdsPercent)
	codec.Small(c, &numLinks, math.MaxUint32)
	codec.Small(c, &thresholds, maxThresholds+1)
	if numLinks != h.numLinks || thresholds != len(h.cfg.ThresholdsPercent) {
		c.Fail(fmt.Errorf("it has %d links and %d thresholds", numLinks, thresholds))
	}
	for _, want := range h.cfg.ThresholdsPercent {
		percent := want
		if c.Float(&percent); percent != want {
			c.Fail(fmt.Errorf("it has the threshold %v", percent))
		}
	}
	if c.Version() < 3 {
		for m := range metricsOfVersion2 {
			present := false
			if c.Bool(&present); present && !c.Failed() {
				h.of(schema.Metric(m)).code(c, h.numLinks, thresholds)
			}
		}
		return
	}
	metrics := h.present()
	codec.Each(c, &metrics, func(_ int, m *schema.Metric) {
		if codeMetric(c, m); c.Failed() {
			return
		}
		if c.Reading() && h.metrics[*m] != nil {
			c.Damaged("metric %s is duplicated", *m)
			return
		}
		h.of(*m).code(c, h.numLinks, thresholds)
	})
}

// present lists the metrics that have been seen.
func (h *Hotspots) present() (metrics []schema.Metric) {
	for m, hot := range h.metrics {
		if hot != nil {
			metrics = append(metrics, schema.Metric(m))
		}
	}
	return metrics
}

func (hot *hotLinks) code(c *codec.Coder, numLinks, thresholds int) {
	previous := run{}
	codec.Each(c, &hot.runs, func(i int, r *run) {
		r.code(c, &previous, numLinks, thresholds)
		if previous = *r; !c.Reading() || c.Failed() {
			return
		}
		if hot.slot[r.link] >= 0 {
			c.Damaged("link %d is duplicated", r.link)
		}
		hot.slot[r.link] = int32(i)
	})
	if c.Version() < 3 {
		for range thresholds {
			skipDurations(c)
		}
	}
}

// code encodes a run relative to the previous one, whose times mostly differ little.
func (r *run) code(c *codec.Coder, previous *run, numLinks, thresholds int) {
	codec.Small(c, &r.link, uint64(numLinks))
	level := int(r.level) - 1
	codec.Small(c, &level, uint64(thresholds))
	r.level = int8(level + 1)
	c.IntFrom(&r.seenNanos, previous.seenNanos)
	earlier := r.seenNanos
	for j := range r.sinceNanos[:r.level] {
		c.IntFrom(&r.sinceNanos[j], earlier)
		earlier = r.sinceNanos[j]
	}
}

// skipDurations skips a histogram of durations of version 2: a count, the longest, and
// the non-empty classes with their counts.
func skipDurations(c *codec.Coder) {
	ignored, longest := uint64(0), int64(0)
	c.Uint(&ignored, math.MaxUint64)
	c.Int(&longest)
	for range c.Count(0) {
		c.Uint(&ignored, math.MaxUint64)
		c.Uint(&ignored, math.MaxUint64)
	}
}
