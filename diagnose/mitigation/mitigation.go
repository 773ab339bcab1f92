// Package mitigation tracks how congestion protection throttles a fabric. Interval results with their regions and
// protection events go in; congestion mitigation events (Monet, section 6) come out, with whether congestion was lower
// after each. Its memory is bounded, and it does not look for causes.
package mitigation

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/giverny/giverny/internal/codec"
	"github.com/giverny/giverny/schema"
)

const (
	// coalesce is the sliding window that merges congestion protection events (CPE) into one congestion mitigation
	// event (CME; Monet, section 6).
	coalesce = 210 * time.Second
	// compared is how many intervals before and after a mitigation are averaged.
	compared = 5
	// alleviated is the share of the earlier congestion below which a mitigation has helped.
	alleviated = .9
	// maxMitigations limits the mitigations that wait for the intervals after them: far more than can begin in the past
	// within that time.
	maxMitigations = 64
	// maxMoments limits the intervals kept for the comparison.
	maxMoments = 256
)

// Tracker coalesces the congestion protection events of one fabric and compares congestion before and after. The zero
// value is ready for use.
type Tracker struct {
	moments  []moment            // recent intervals, by time
	pending  []schema.Mitigation // by time; they may still grow, or wait for the intervals after them
	reported map[int64]bool      // times of recent protection events, for deduplication
}

// moment is the congestion of a fabric in one interval.
type moment struct {
	start, end int64
	stall      float64 // sum over regions of links times mean, link-percent
	congestion int64   // begin of the ongoing regions congestion event, 0 if none
}

// Step consumes one interval with its regions and protection events. It adds to the result an event for each mitigation
// that began, and each mitigation that ended with the congestion after it.
func (m *Tracker) Step(r *schema.IntervalResult) {
	in := r.Snapshot.Interval
	now := moment{start: in.StartNanos, end: in.EndNanos()}
	for i := range r.Regions {
		if g := &r.Regions[i]; g.Severity >= schema.Low {
			now.stall += float64(len(g.Links)) * g.Mean
		}
	}
	if r.Congestion != nil {
		now.congestion = r.Congestion.BeginNanos
	}
	m.moments = append(m.moments, now)
	m.moments = slices.Delete(m.moments, 0, max(0, len(m.moments)-maxMoments))
	for _, t := range m.fresh(r) {
		if began := m.add(t); began {
			r.Events = append(r.Events, schema.Event{TimeNanos: min(max(t, in.StartNanos), in.EndNanos()-1),
				Fabric: r.Snapshot.Fabric, Kind: schema.MitigationBegan,
				Detail: "congestion protection throttles the fabric"})
		}
	}
	m.finish(r)
	m.pending = m.pending[:min(len(m.pending), maxMitigations)]
}

// fresh returns the times of the protection events not seen before, ascending. They come as failures from logs, or as
// events from the simulator.
func (m *Tracker) fresh(r *schema.IntervalResult) (times []int64) {
	take := func(t int64) {
		if !m.reported[t] {
			if m.reported == nil {
				m.reported = map[int64]bool{}
			}
			m.reported[t] = true
			times = append(times, t)
		}
	}
	for i := range r.Failures {
		if r.Failures[i].Kind == schema.Throttled {
			take(int64(r.Failures[i].Time))
		}
	}
	for i := range r.Events {
		if r.Events[i].Kind == schema.Throttled {
			take(r.Events[i].TimeNanos)
		}
	}
	oldest := m.moments[0].start - int64(coalesce)
	for t := range m.reported {
		if t < oldest {
			delete(m.reported, t)
		}
	}
	slices.Sort(times)
	return times
}

// add adds a protection event to the mitigation within reach, or begins one.
func (m *Tracker) add(t int64) (began bool) {
	for i := range m.pending {
		p := &m.pending[i]
		if t < int64(p.Begin)-int64(coalesce) || t > int64(p.End)+int64(coalesce) {
			continue
		}
		p.Begin, p.End = min(p.Begin, schema.Instant(t)), max(p.End, schema.Instant(t))
		p.Events++
		m.join(i)
		return false
	}
	m.pending = append(m.pending, schema.Mitigation{Begin: schema.Instant(t), End: schema.Instant(t), Events: 1})
	slices.SortFunc(m.pending, func(a, b schema.Mitigation) int { return cmp.Compare(a.Begin, b.Begin) })
	return true
}

// join merges mitigation i with the next one if they now touch.
func (m *Tracker) join(i int) {
	if i+1 < len(m.pending) && m.pending[i+1].Begin <= m.pending[i].End+schema.Instant(coalesce) {
		next := m.pending[i+1]
		m.pending[i].End, m.pending[i].Events = max(m.pending[i].End, next.End), m.pending[i].Events+next.Events
		m.pending = slices.Delete(m.pending, i+1, i+2)
	}
}

// finish reports the mitigations that have ended and have enough intervals after them.
func (m *Tracker) finish(r *schema.IntervalResult) {
	in := r.Snapshot.Interval
	for len(m.pending) > 0 {
		p := m.pending[0]
		after := in.EndNanos() - int64(p.End)
		if after <= int64(coalesce) || after < compared*in.DurationNanos {
			return
		}
		m.pending = slices.Delete(m.pending, 0, 1)
		m.compare(&p)
		p.Fabric = r.Snapshot.Fabric
		r.Mitigations = append(r.Mitigations, p)
		r.Events = append(r.Events, schema.Event{TimeNanos: in.StartNanos, Fabric: r.Snapshot.Fabric,
			Kind: schema.MitigationEnded, Detail: describe(&p)})
	}
}

// compare fills in the congestion before and after, and the congestion event that the mitigation met.
func (m *Tracker) compare(p *schema.Mitigation) {
	var before, after []float64
	for i := range m.moments {
		x := &m.moments[i]
		switch {
		case x.end <= int64(p.Begin):
			before = append(before, x.stall)
		case x.start > int64(p.End):
			if after = append(after, x.stall); len(after) > compared {
				after = after[:compared]
			}
			continue
		}
		if x.congestion != 0 && x.end >= int64(p.Begin)-int64(coalesce) {
			p.Congestion = schema.Instant(x.congestion)
		}
	}
	p.Before, p.After = mean(before[max(0, len(before)-compared):]), mean(after)
	p.Alleviated = p.Before > 0 && p.After < alleviated*p.Before
}

// mean is the mean of values, 0 if there are none.
func mean(values []float64) float64 {
	sum := 0.
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(1, len(values)))
}

func describe(p *schema.Mitigation) string {
	met := "during no congestion event"
	if p.Congestion != 0 {
		met = "during the congestion event that began at " + p.Congestion.Time().Format("15:04:05 UTC")
	}
	what := "was not lower"
	if p.Alleviated {
		what = "was lower"
	}
	events := "1 protection event"
	if p.Events != 1 {
		events = fmt.Sprintf("%d protection events", p.Events)
	}
	return fmt.Sprintf("mitigation of %s by %s; %s; congestion %s after: %.0f link-percent, before %.0f",
		time.Duration(p.End-p.Begin).Round(time.Second), events, met, what, p.After, p.Before)
}

// Code encodes or decodes the saved state.
func (m *Tracker) Code(c *codec.Coder) {
	codec.Each(c, &m.moments, func(_ int, x *moment) {
		c.Int(&x.start)
		c.Int(&x.end)
		c.Float(&x.stall)
		c.Int(&x.congestion)
	})
	codec.Each(c, &m.pending, func(_ int, p *schema.Mitigation) {
		c.Int((*int64)(&p.Begin))
		c.Int((*int64)(&p.End))
		codec.Small(c, &p.Events, math.MaxInt32)
	})
	reported := slices.Sorted(maps.Keys(m.reported))
	codec.Each(c, &reported, func(_ int, t *int64) { c.Int(t) })
	if c.Reading() {
		m.reported = map[int64]bool{}
		for _, t := range reported {
			m.reported[t] = true
		}
	}
}
