package tracking

import (
	"fmt"
	"math"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Save appends all that the measure knows to buf, for LoadHotspots.
func (h *Hotspots) Save(buf []byte) []byte { return seal(buf, h.code) }

// LoadHotspots makes the measure that was saved. It fails with ErrSaved if the
// bytes are damaged, of another form, of a graph with another number of links or
// of other thresholds.
func LoadHotspots(g *topology.Graph, cfg HotspotConfig, saved []byte) (*Hotspots, error) {
	h, err := NewHotspots(g, cfg)
	if err != nil {
		return nil, err
	}
	if err := unseal(saved, h.code); err != nil {
		return nil, fmt.Errorf("tracking: load the hotspots of fabric %s: %w", g.Fabric(), err)
	}
	return h, nil
}

func (h *Hotspots) code(c *coder) {
	numLinks, thresholds := h.numLinks, len(h.cfg.ThresholdsPercent)
	small(c, &numLinks, math.MaxUint32)
	small(c, &thresholds, maxThresholds+1)
	if numLinks != h.numLinks || thresholds != len(h.cfg.ThresholdsPercent) {
		c.fail("it has %d links and %d thresholds", numLinks, thresholds)
	}
	for _, want := range h.cfg.ThresholdsPercent {
		percent := want
		if c.float(&percent); percent != want {
			c.fail("it has the threshold %v", percent)
		}
	}
	for m := range h.metrics {
		there := h.metrics[m] != nil
		if c.bool(&there); there && c.err == nil {
			h.of(schema.Metric(m)).code(c, h.numLinks)
		}
	}
}

func (hot *hotLinks) code(c *coder, numLinks int) {
	n, before := c.count(len(hot.runs)), run{}
	for i := 0; i < n && c.err == nil; i++ {
		if c.reading {
			hot.runs = append(hot.runs, run{})
		}
		r := &hot.runs[i]
		r.code(c, &before, numLinks, len(hot.counts))
		if before = *r; !c.reading {
			continue
		}
		if hot.slot[r.link] >= 0 {
			c.fail("link %d stands twice", r.link)
		}
		hot.slot[r.link] = int32(i)
	}
	for i := range hot.counts {
		hot.counts[i].code(c)
	}
}

// code is that of a run behind another, from which times mostly differ little.
func (r *run) code(c *coder, before *run, numLinks, thresholds int) {
	small(c, &r.link, uint64(numLinks))
	level := int(r.level) - 1
	small(c, &level, uint64(thresholds))
	r.level = int8(level + 1)
	since(c, &r.seenNanos, before.seenNanos)
	earlier := r.seenNanos
	for j := range r.sinceNanos[:r.level] {
		since(c, &r.sinceNanos[j], earlier)
		earlier = r.sinceNanos[j]
	}
}

// since is a time by its distance from another.
func since(c *coder, nanos *int64, from int64) {
	distance := *nanos - from
	c.int64(&distance)
	*nanos = from + distance
}

func (d *Durations) code(c *coder) {
	c.uint(&d.Count, math.MaxUint64)
	c.int64(&d.Longest)
	used := 0
	for _, n := range d.classes {
		if n > 0 {
			used++
		}
	}
	class := -1
	for range c.count(used) {
		step := 0
		if !c.reading {
			for step = 1; d.classes[class+step] == 0; step++ {
			}
		}
		small(c, &step, uint64(len(d.classes)-class))
		if class += step; class < 0 {
			c.fail("a class below the first")
			return
		}
		c.uint(&d.classes[class], math.MaxUint64)
	}
}
