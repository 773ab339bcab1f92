package tracking

import (
	"github.com/giverny/giverny/schema"
)

// CongestionEvent is a regions congestion event (RCE; Monet, section 6): a period in which every
// window of Config.EventWindow has a High region. Ended means that a window without one has passed.
type CongestionEvent struct {
	schema.CongestionEvent
	Ended bool
}

const severities = len(schema.Severities)

// network is the state of the whole fabric, over all metrics.
type network struct {
	severity    schema.Severity                // in the last interval
	counts      [severities][severities]uint64 // of intervals: from the first index to the second
	transitions []schema.Transition            // of regions, in this step
	congestion  CongestionEvent                // if not open, the ended one, or zero before the first
	open        bool
	shown       CongestionEvent
}

// addTransition records a transition of a region. A birth is a transition from Gone, an end one to
// Gone; a region that merges goes to the severity of what it merged into; intervals in which a region
// is unseen but later reappears have none.
func (n *network) addTransition(m schema.Metric, from, to schema.RegionState) {
	n.transitions = append(n.transitions, schema.Transition{Metric: m, From: from, To: to})
}

// step processes the regions of an interval.
func (n *network) step(interval schema.Interval, regions []schema.Region, steady bool, windowNanos int64) (schema.NetworkForecast, *CongestionEvent) {
	highest, peak := schema.Negligible, 0.
	for i := range regions {
		r := &regions[i]
		if int(r.Metric) >= schema.NumMetrics {
			continue
		}
		highest, peak = max(highest, severityOf(r)), max(peak, meanOf(r))
	}
	if steady {
		n.counts[n.severity][highest]++
	}
	n.severity = highest
	return n.forecast(), n.updateRCE(interval, highest == schema.High, peak, windowNanos)
}

// Prior assumptions about the network, in units of transitions: it stays as it is, and
// may become anything.
const stayWeight, leaveWeight = 4, .25

// forecast is a Markov chain with the counted transitions (Monet, Fig. 6).
func (n *network) forecast() schema.NetworkForecast {
	var chain [severities]schema.Odds
	for from := range chain {
		counts, total := &n.counts[from], uint64(0)
		for _, c := range counts {
			total += c
		}
		weight := float64(total) + stayWeight + leaveWeight*float64(len(chain))
		for to := range chain {
			chain[from][to] = (float64(counts[to]) + leaveWeight) / weight
		}
		chain[from][from] += stayWeight / weight
	}
	out := schema.NetworkForecast{Severity: n.severity, Next: chain[n.severity], Later: chain[n.severity]}
	for range schema.LaterIntervals - 1 {
		var after schema.Odds
		for from, p := range out.Later[:len(chain)] {
			for to := range chain {
				after[to] += p * chain[from][to]
			}
		}
		out.Later = after
	}
	return out
}

// emitRCE emits the event of a regions congestion event that begins, and of one that
// ended once the window has passed.
func (t *Tracker) emitRCE(interval schema.Interval) {
	if e := t.result.Congestion; e != nil && e.Ended {
		t.event(e.EndNanos, schema.CongestionEnded, 0, congestionEnded(e, interval.DurationNanos))
	}
	if e := &t.network.congestion; t.network.open && e.BeginNanos == interval.StartNanos {
		t.event(e.BeginNanos, schema.CongestionBegan, 0, congestionBegan(e))
	}
}

// updateRCE updates the regions congestion event.
func (n *network) updateRCE(interval schema.Interval, high bool, peak float64, windowNanos int64) *CongestionEvent {
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
	case ended: // if the next event began now, it is returned by the next step
		return &n.shown
	case n.open:
		n.shown = *e
		return &n.shown
	}
	return nil
}
