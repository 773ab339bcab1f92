package tracking

import (
	"github.com/giverny/giverny/schema"
)

// State of a region or a network: a severity, or Gone.
type State uint8

// Gone is the state of a region that is not there. The states below it are the
// severities.
const Gone = State(len(schema.Severities))

// NumStates bounds every State.
const NumStates = int(Gone) + 1

func (s State) String() string {
	if s == Gone {
		return "gone"
	}
	return schema.Severity(s).String()
}

// Transitions counts what followed what, from one interval to the next: first
// index before, second after.
type Transitions [NumStates][NumStates]uint64

// Probability of a state after another, and whether it is known at all.
func (t *Transitions) Probability(from, to State) (p float64, known bool) {
	total := uint64(0)
	for _, n := range t[from] {
		total += n
	}
	if total == 0 {
		return 0, false
	}
	return float64(t[from][to]) / float64(total), true
}

// CongestionEvent is a regions congestion event (RCE; Monet, section 6): a span
// in which every window of Config.EventWindow has a High region of any metric.
type CongestionEvent struct {
	BeginNanos      int64
	EndNanos        int64 // of its last interval with a High region
	Ended           bool
	PeakMeanPercent float64 // of its most stalled region
}

// DurationNanos of the event so far.
func (e *CongestionEvent) DurationNanos() int64 { return e.EndNanos - e.BeginNanos }

// network is what is known of a fabric as a whole. Tables by metric hold all
// metrics together at NoMetric.
type network struct {
	numLinks    int
	seen        [schema.NumMetrics]bool // has had a region
	states      []schema.NetworkState
	state       [schema.NumMetrics]schema.Severity // in the last interval
	ofRegions   [schema.NumMetrics]Transitions
	ofNetwork   [schema.NumMetrics]Transitions
	linkTime    [schema.NumMetrics][len(schema.Severities)]uint64 // link intervals
	networkTime [schema.NumMetrics][len(schema.Severities)]uint64 // intervals
	congestion  CongestionEvent                                   // ended, or before the first, if not open
	open        bool
	shown       CongestionEvent
}

func newNetwork(links int) network { return network{numLinks: links} }

// changed counts a transition of a region.
func (n *network) changed(m schema.Metric, from, to State) {
	n.ofRegions[schema.NoMetric][from][to]++
	if m != schema.NoMetric && int(m) < schema.NumMetrics {
		n.ofRegions[m][from][to]++
	}
}

// step takes the regions of an interval.
func (n *network) step(interval schema.Interval, regions []schema.Region, steady bool, windowNanos int64) ([]schema.NetworkState, schema.Severity, *CongestionEvent) {
	var now [schema.NumMetrics]schema.NetworkState
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
			now[m].State = max(now[m].State, v)
			links[m][v] += len(r.Links)
		}
		now[r.Metric].Regions[v]++
		now[r.Metric].Links += len(r.Links)
		highest, peak = max(highest, v), max(peak, meanOf(r))
	}
	n.states = n.states[:0]
	for m := range now {
		if n.seen[m] && m != int(schema.NoMetric) {
			now[m].Metric = schema.Metric(m)
			n.states = append(n.states, now[m])
		}
		if n.seen[m] || m == int(schema.NoMetric) {
			n.count(m, now[m].State, &links[m], steady)
		}
	}
	return n.states, highest, n.congest(interval, highest == schema.High, peak, windowNanos)
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
		*e = CongestionEvent{BeginNanos: interval.StartNanos, EndNanos: interval.EndNanos(), PeakMeanPercent: peak}
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
func (t *Tracker) RegionTransitions(m schema.Metric) Transitions { return t.network.ofRegions[m] }

// NetworkTransitions counts the transitions of the network by a metric, NoMetric
// meaning all (Monet, Fig. 6).
func (t *Tracker) NetworkTransitions(m schema.Metric) Transitions { return t.network.ofNetwork[m] }

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
