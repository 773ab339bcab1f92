package tracking

import (
	"github.com/giverny/giverny/schema"
)

// TransitionCounts counts what followed what, from one interval to the next: first
// index before, second after.
type TransitionCounts [NumStates][NumStates]uint64

// Probability of a state after another, and whether it is known at all.
func (t *TransitionCounts) Probability(from, to State) (p float64, known bool) {
	total := uint64(0)
	for _, n := range t[from] {
		total += n
	}
	if total == 0 {
		return 0, false
	}
	return float64(t[from][to]) / float64(total), true
}

// CongestionEvent is one in which every window of Config.EventWindow has a High
// region; Ended says that the window has passed without one.
type CongestionEvent struct {
	schema.CongestionEvent
	Ended bool
}

// network is what is known of a fabric as a whole. Tables by metric hold all
// metrics together at NoMetric.
type network struct {
	numLinks    int
	seen        [schema.NumMetrics]bool            // has had a region
	state       [schema.NumMetrics]schema.Severity // in the last interval
	transitions []schema.Transition                // of this step
	ofRegions   [schema.NumMetrics]TransitionCounts
	ofNetwork   [schema.NumMetrics]TransitionCounts
	linkTime    [schema.NumMetrics][len(schema.Severities)]uint64 // link intervals
	networkTime [schema.NumMetrics][len(schema.Severities)]uint64 // intervals
	congestion  CongestionEvent                                   // ended, or before the first, if not open
	open        bool
	shown       CongestionEvent
}

func newNetwork(links int) network { return network{numLinks: links} }

// changed counts a transition of a region.
func (n *network) changed(m schema.Metric, from, to State) {
	n.transitions = append(n.transitions, schema.Transition{Metric: m, From: from, To: to})
	n.ofRegions[schema.NoMetric][from][to]++
	if m != schema.NoMetric && int(m) < schema.NumMetrics {
		n.ofRegions[m][from][to]++
	}
}

// step takes the regions of an interval.
func (n *network) step(interval schema.Interval, regions []schema.Region, steady bool, windowNanos int64) (schema.NetworkForecast, *CongestionEvent) {
	var now [schema.NumMetrics]schema.Severity
	var links [schema.NumMetrics][len(schema.Severities)]int
	highest, peak := schema.Negligible, 0.
	for i := range regions {
		r := &regions[i]
		if int(r.Metric) >= schema.NumMetrics {
			continue
		}
		n.seen[r.Metric] = true
		v := severityOf(r)
		for _, m := range [2]schema.Metric{schema.NoMetric, r.Metric} {
			now[m] = max(now[m], v)
			links[m][v] += len(r.Links)
		}
		highest, peak = max(highest, v), max(peak, meanOf(r))
	}
	for m := range now {
		if n.seen[m] || m == int(schema.NoMetric) {
			n.count(m, now[m], &links[m], steady)
		}
	}
	return n.forecast(highest), n.congest(interval, highest == schema.High, peak, windowNanos)
}

// count adds an interval of a metric.
func (n *network) count(m int, state schema.Severity, links *[len(schema.Severities)]int, steady bool) {
	if steady {
		n.ofNetwork[m][n.state[m]][state]++
	}
	n.state[m] = state
	n.networkTime[m][state]++
	calm := n.numLinks
	for v, l := range links {
		n.linkTime[m][v] += uint64(l)
		calm -= l
	}
	n.linkTime[m][schema.Negligible] += uint64(max(0, calm))
}

// What is assumed of the network before anything is known, in units of
// transitions: that it stays as it is, and may become anything.
const stayWeight, leaveWeight = 4, .25

// forecast of the network: a Markov chain of the transitions that were counted
// (Monet, Fig. 6).
func (n *network) forecast(state schema.Severity) schema.NetworkForecast {
	var chain [len(schema.Severities)]Odds
	for from := range chain {
		counts, total := &n.ofNetwork[schema.NoMetric][from], uint64(0)
		for _, c := range counts {
			total += c
		}
		weight := float64(total) + stayWeight + leaveWeight*float64(len(chain))
		for to := range chain {
			chain[from][to] = (float64(counts[to]) + leaveWeight) / weight
		}
		chain[from][from] += stayWeight / weight
	}
	out := schema.NetworkForecast{Severity: state, Next: chain[state], Later: chain[state]}
	for range LaterIntervals - 1 {
		var after Odds
		for from, p := range out.Later[:len(chain)] {
			for to := range chain {
				after[to] += p * chain[from][to]
			}
		}
		out.Later = after
	}
	return out
}

// tellCongestion announces the beginning of a congestion event, and its end once
// the window has passed.
func (t *Tracker) tellCongestion(interval schema.Interval) {
	if e := t.result.Congestion; e != nil && e.Ended {
		t.event(e.EndNanos, schema.CongestionEnded, 0, congestionEnded(e, interval.DurationNanos))
	}
	if e := &t.network.congestion; t.network.open && e.BeginNanos == interval.StartNanos {
		t.event(e.BeginNanos, schema.CongestionBegan, 0, congestionBegan(e))
	}
}

// congest follows the congestion event.
func (n *network) congest(interval schema.Interval, high bool, peak float64, windowNanos int64) *CongestionEvent {
	e := &n.congestion
	ended := n.open && interval.EndNanos()-e.EndNanos > windowNanos && !(high && interval.StartNanos-e.EndNanos <= windowNanos)
	if ended {
		e.Ended, n.open = true, false
		n.shown = *e
	}
	switch {
	case high && !n.open:
		*e = CongestionEvent{CongestionEvent: schema.CongestionEvent{BeginNanos: interval.StartNanos, EndNanos: interval.EndNanos(), PeakMeanPercent: peak}}
		n.open = true
	case high:
		e.EndNanos, e.PeakMeanPercent = interval.EndNanos(), max(e.PeakMeanPercent, peak)
	}
	switch {
	case ended: // the next, if it began now, is told with the next step
		return &n.shown
	case n.open:
		n.shown = *e
		return &n.shown
	}
	return nil
}

// RegionTransitions counts the transitions of the regions of a metric, NoMetric
// meaning all (Monet, Fig. 5c). A birth is one from Gone, an end one to Gone; one
// that merges passes to the severity of what it merged into; an interval in
// which a region is unseen and comes back does not count.
func (t *Tracker) RegionTransitions(m schema.Metric) TransitionCounts { return t.network.ofRegions[m] }

// NetworkTransitions counts the transitions of the network by a metric, NoMetric
// meaning all (Monet, Fig. 6).
func (t *Tracker) NetworkTransitions(m schema.Metric) TransitionCounts { return t.network.ofNetwork[m] }

// LinkTime is how many link intervals were spent in regions of each severity;
// links in no region count as Negligible (the boxes of Monet, Fig. 5c). For
// NoMetric a link in regions of two metrics counts twice.
func (t *Tracker) LinkTime(m schema.Metric) [len(schema.Severities)]uint64 {
	return t.network.linkTime[m]
}

// NetworkTime is how many intervals the network was in each state (the boxes of
// Monet, Fig. 6).
func (t *Tracker) NetworkTime(m schema.Metric) [len(schema.Severities)]uint64 {
	return t.network.networkTime[m]
}
