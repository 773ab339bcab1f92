package history

import (
	"math"
	"slices"

	"github.com/giverny/giverny/internal/codec"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// The first versions of the saved state that have the counts of outages, which jobs the traffic table has, and which of
// their columns.
const formOfOutages, formOfListed, formOfColumns = 5, 9, 10

// hotLevel is the stall, in any slot, from which a link's levels are saved; the others are restored as calm.
const hotLevel = uint8(schema.LowPercent * 5 / 2) // LevelsPerPercent

// usedLevel is the same for the use of links.
const usedLevel = uint8(1)

// Code encodes or decodes the fields, but for what CodeSince does.
func (h *History) Code(c *codec.Coder) {
	window, links := uint64(h.Limits.Window), uint64(h.graph.NumLinks())
	was := [2]uint64{window, links}
	c.Uint(&was[0], math.MaxInt32)
	c.Uint(&was[1], math.MaxUint32)
	if was[1] != links {
		c.Damaged("it is of a fabric of %d links, this one has %d", was[1], links)
	}
	c.Int(&h.Clock.Duration)
	c.Int(&h.Clock.First)
	c.Int(&h.Clock.Now)
	if h.Clock.Duration < 0 || h.Clock.First > h.Clock.Now {
		c.Damaged("intervals of %d ns from %d to %d", h.Clock.Duration, h.Clock.First, h.Clock.Now)
	}
	c.Bool(&h.measured)
	h.codeJobs(c)
	codec.Each(c, &h.Failures, func(_ int, f *PlacedFailure) { codeFailure(c, h.graph, f) })
	for m := range h.memory.metrics {
		if metric := schema.Metric(m); metric.IsStall() || metric == schema.BandwidthUsed {
			h.codeLevels(c, schema.Metric(m), was[0] == window)
		}
	}
}

// CodeSince encodes or decodes since when the traffic table has rows, which the saved state of the stage has at another
// place.
func (h *History) CodeSince(c *codec.Coder) { c.Int(&h.tableSince) }

func (h *History) codeJobs(c *codec.Coder) {
	jobs := slices.Clone(h.jobs.all())
	codec.Each(c, &jobs, func(i int, j **Job) {
		if c.Reading() {
			*j = new(Job)
		}
		codeJob(c, &(*j).Job)
		h.codeTraffic(c, *j)
		if c.Reading() && !c.Failed() {
			h.adopt(*j)
		}
	})
}

// adopt adds a decoded job to the table.
func (h *History) adopt(j *Job) {
	traffic := j.Traffic
	h.jobs.upsert(h.graph, j.Job)
	for _, same := range h.jobs.byID[j.ID] {
		if same.Start == j.Start {
			same.Traffic = traffic
		}
	}
}

func codeJob(c *codec.Coder, j *schema.Job) {
	for _, text := range [...]*string{&j.Fabric, &j.ID, &j.Name, &j.User, &j.State} {
		c.Text(text)
	}
	codec.Each(c, &j.Nodes, func(_ int, n *string) { c.Text(n) })
	c.Int((*int64)(&j.Start))
	c.Int((*int64)(&j.End))
}

// trafficSteps is the number of steps per doubling of the saved traffic.
const trafficSteps = 64

// codeTraffic saves the rings on a logarithmic scale, latest slot first.
func (h *History) codeTraffic(c *codec.Coder, j *Job) {
	known := j.Traffic != nil
	c.Bool(&known)
	if !known || c.Failed() {
		return
	}
	if c.Reading() {
		j.Traffic = NewTraffic(h.TrafficLength(), h.Clock.Now)
	}
	listed := h.measured
	if c.Version() == formOfListed {
		c.Bool(&listed)
	}
	for f := range j.Traffic.Listed {
		if c.Version() >= formOfColumns {
			c.Bool(&j.Traffic.Listed[f])
		} else {
			j.Traffic.Listed[f] = listed
		}
	}
	for f := range NumFeatures {
		values := make([]uint32, 0, h.TrafficLength())
		for back := range int64(h.TrafficLength()) {
			v, step := j.Traffic.At(f, h.Clock.Now-back), uint32(0)
			if !IsMissing(v) {
				step = 1 + uint32(math.Round(trafficSteps*math.Log2(1+float64(v))))
			}
			values = append(values, step)
		}
		for len(values) > 0 && values[len(values)-1] == 0 {
			values = values[:len(values)-1]
		}
		codec.Each(c, &values, func(back int, v *uint32) {
			codec.Small(c, v, 200*trafficSteps)
			if c.Reading() && *v > 0 {
				j.Traffic.Set(f, h.Clock.Now-int64(back), math.Exp2(float64(*v-1)/trafficSteps)-1)
			}
		})
	}
}

func codeFailure(c *codec.Coder, g *topology.Graph, f *PlacedFailure) {
	kind := string(f.Kind)
	for _, text := range [...]*string{&f.Fabric, &kind, &f.Device, &f.Port, &f.Detail} {
		c.Text(text)
	}
	c.Int((*int64)(&f.Time))
	if c.Version() >= formOfOutages {
		codec.Small(c, &f.Times, math.MaxInt32)
		c.Int((*int64)(&f.since))
	}
	if c.Reading() {
		f.Kind = schema.EventKind(kind)
		f.Place(g)
	}
}

// codeLevels saves the slots of the links that stalled, or carried anything, in any of them. The others are
// restored as calm in the slots with any reading.
func (h *History) codeLevels(c *codec.Coder, m schema.Metric, sameWindow bool) {
	known := h.memory.metrics[m] != nil
	c.Bool(&known)
	if !known || c.Failed() {
		return
	}
	levels := h.memory.of(m)
	var seen []bool // by slot back from now
	var hot []schema.LinkID
	if !c.Reading() {
		least := hotLevel
		if m == schema.BandwidthUsed {
			least = usedLevel
		}
		seen, hot = levels.summary(h.Clock.Now, least)
	}
	codec.Each(c, &seen, func(_ int, v *bool) { c.Bool(v) })
	codec.Ascending(c, &hot, h.graph.NumLinks())
	if c.Reading() && !sameWindow {
		levels = newLevels(h.graph.NumLinks(), max(1, len(seen))) // decoded, and discarded
	}
	for back := range min(len(seen), levels.length) {
		row := levels.Row(h.Clock.Now - int64(back))
		if c.Reading() && seen[back] {
			clear(row)
		}
		for _, l := range hot {
			codec.Small(c, &row[l], math.MaxUint8+1)
		}
	}
}

// summary returns the slots, back from now, with any reading, and the links that reached a level in any.
func (l *levels) summary(now int64, least uint8) (seen []bool, hot []schema.LinkID) {
	for back := range int64(l.length) {
		row := l.Row(now - back)
		seen = append(seen, slices.ContainsFunc(row, func(v uint8) bool { return v != LevelMissing }))
	}
	for link := range l.links {
		for slot := range l.length {
			if v := l.bytes[slot*l.links+link]; v >= least && v != LevelMissing {
				hot = append(hot, schema.LinkID(link))
				break
			}
		}
	}
	return seen, hot
}
