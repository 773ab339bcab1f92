package linkhealth

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// sight is an interval's evidence about one port.
type sight struct {
	what  sighting
	state stateColumn // source of up and down
	value uint8
	nanos int64 // when the state was read
}

type sighting uint8

const (
	unseen  sighting = iota // nothing is known
	missing                 // its agent reports, but not this port
	present                 // it is read, but not its state
	up
	down
)

// answers reports whether the port itself was read.
func (s sighting) answers() bool { return s >= present }

type stateColumn uint8

const (
	noState stateColumn = iota
	physicalState
	logicalState // more specific than the physical one
)

var stateColumns = map[string]stateColumn{"ib.port_phys_state": physicalState, "ib.port_state": logicalState}

// Values of PortInfo:PortState and PortPhysicalState (IBA vol. 1, 14.2.5.6) that allow
// traffic.
const (
	stateActive = 4
	physLinkUp  = 5
)

// endState is the memory about a port.
type endState struct {
	heard    bool // it was read at least once
	missed   bool // it went missing, and its agent has not been silent since
	unread   bool // its agent was silent when it was last expected
	erring   bool // link_errors was reported and is not over
	retrains bool // its link lost its training in this interval, so errors are no evidence
	tallies  *[numCounters]tally
}

// look records which ports were heard. A missing port stays missing while nothing is
// reported about it.
func (m *Monitor) look(snap *schema.Snapshot) {
	known := len(snap.Ports.From) == m.graph.NumLinks()
	for i := range m.layout.cables {
		l := m.layout.cables[i].link
		from, to := schema.Unheard, schema.Unheard
		if known {
			from, to = snap.Ports.From[l], snap.Ports.To[l]
		}
		m.lookAt(2*i, from)
		m.lookAt(2*i+1, to)
	}
}

func (m *Monitor) lookAt(end int, p schema.Presence) {
	e, s := &m.ends[end], sight{}
	switch p {
	case schema.Heard:
		e.heard, e.missed, e.unread = true, false, false
		s.what = present
	case schema.Missed:
		e.missed, e.unread = true, false
	case schema.Unread:
		e.missed, e.unread = false, true
	}
	if e.missed {
		s.what = missing
	}
	e.retrains = false
	m.sights[end] = s
}

// read processes the port states and counters of the interval's batches.
func (m *Monitor) read(raw []*schema.CounterBatch) {
	for _, b := range raw {
		m.resolved = m.resolved[:0]
		for i := range b.Columns {
			c := &b.Columns[i]
			state, counter := stateColumns[c.Name], counterOf(c.Name)
			if state == noState && counter < 0 {
				continue
			}
			m.resolve(b)
			for row, value := range c.Values {
				end := m.resolved[b.PortIndex[row]]
				switch {
				case end < 0 || c.Valid != nil && !c.Valid.Has(row):
				case state != noState:
					m.readState(end, state, value, b.TimeNanos[row])
				default:
					m.count(end, counter, value, b.TimeNanos[row])
				}
			}
		}
	}
}

// resolve maps a batch's ports to ends, -1 if unknown to the graph, once for all
// columns.
func (m *Monitor) resolve(b *schema.CounterBatch) {
	if len(m.resolved) > 0 {
		return
	}
	for _, p := range b.Ports {
		end, ok := m.layout.endOf[p]
		if !ok {
			end = -1
		}
		m.resolved = append(m.resolved, end)
	}
}

// readState processes a port's state: the newest counts, at equal times the logical
// one. 0 means unknown.
func (m *Monitor) readState(end int32, column stateColumn, value uint64, nanos int64) {
	s := &m.sights[end]
	if value == 0 || value > 15 || s.state != noState && (nanos < s.nanos || nanos == s.nanos && column < s.state) {
		return
	}
	m.ends[end].heard, m.ends[end].missed, m.ends[end].unread = true, false, false
	*s = sight{what: down, state: column, value: uint8(value), nanos: nanos}
	if column == logicalState && value == stateActive || column == physicalState && value == physLinkUp {
		s.what = up
	}
}

// judgeDevices looks for devices that have failed or recovered. Intervals in which a
// node is cut off are no evidence about it.
func (m *Monitor) judgeDevices(nanos int64) {
	for d := range m.devices {
		m.verdicts[d], m.missing[d] = m.deviceVerdict(m.layout.at[d])
	}
	for _, k := range [...]kind{switches, nodes} {
		for _, d := range m.layout.of[k] {
			w, v := &m.devices[d], m.verdicts[d]
			if v >= isMissing && !w.failed && m.cutOff(d) {
				v = unknown
			}
			if v == isMissing && w.bad > 0 { // in the first interval its cables carry what they did before its readings stopped
				v = m.byTraffic(d)
			}
			m.losses[k].observe(w, v)
			w.observe(v)
		}
	}
	for _, k := range [...]kind{switches, nodes} {
		m.patience[k] = m.losses[k].patience(m.cfg.DebounceIntervals, len(m.layout.of[k]), m.interval)
		for _, d := range m.layout.of[k] {
			if was := m.devices[d]; m.devices[d].decide(m.cfg.DebounceIntervals, m.patience[k]) {
				m.emitDevice(nanos, d, was)
			}
		}
	}
}

// deviceVerdict is an interval's verdict on a device with these ends, and whether the device is missing. While the agent
// that reads its other ports is silent, a port that has been missing for long is no evidence about the device.
func (m *Monitor) deviceVerdict(ends []int32) (v verdict, absent bool) {
	heard, unread, seenUp, cut, lost := false, false, false, len(ends) > 0, len(ends) > 0
	for _, end := range ends {
		s, other := m.sights[end].what, m.sights[far(end)].what
		if s.answers() {
			return isUp, false
		}
		heard = heard || m.ends[end].heard
		unread = unread || m.ends[end].unread
		absent = absent || s == missing
		seenUp = seenUp || other == up
		cut = cut && other == down
		lost = lost && (other == down || m.ends[end].retrains)
	}
	absent = absent && !unread
	switch {
	case seenUp && absent:
		return isSilent, absent
	case seenUp || !absent && !(heard && cut):
		return unknown, absent
	case lost:
		return isDown, absent
	}
	return isMissing, absent
}

// cutOff reports whether none of a node's switches answers: the node itself may be
// healthy.
func (m *Monitor) cutOff(d topology.DeviceID) bool {
	if m.graph.IsSwitch(d) || len(m.layout.at[d]) == 0 {
		return false
	}
	for _, end := range m.layout.at[d] {
		if n := m.layout.device(far(end)); !m.missing[n] && !m.devices[n].suspect() {
			return false
		}
	}
	return true
}

// judgeLinks looks for links that have failed or recovered. Evidence from a device that
// has failed, or may have, is ignored.
func (m *Monitor) judgeLinks(nanos int64) {
	for i := range m.links {
		w, c := &m.links[i], &m.layout.cables[i]
		if m.covered(c.ends[0]) || m.covered(c.ends[1]) {
			w.calm()
			w.good = 0
			continue
		}
		a, b := m.sights[2*i].what, m.sights[2*i+1].what
		w.confirmed = w.confirmed || w.failed && max(a, b) == up
		v := linkVerdict(a, b)
		if v == isMissing && m.ends[2*i].retrains {
			v = isDown
		}
		if v == isMissing && (m.ends[2*i].unread || m.ends[2*i+1].unread) {
			v = unknown
		}
		m.losses[cables].observe(w, v)
		w.observe(v)
	}
	patience := m.losses[cables].patience(m.cfg.DebounceIntervals, len(m.links), m.interval)
	for i := range m.links {
		if w := &m.links[i]; w.decide(m.cfg.DebounceIntervals, patience) {
			m.emitLink(nanos, i, w.failed)
		}
	}
}

func (m *Monitor) covered(d topology.DeviceID) bool { return m.missing[d] || m.devices[d].suspect() }

// linkVerdict combines the evidence of a link's two ports.
func linkVerdict(a, b sighting) verdict {
	switch least, most := min(a, b), max(a, b); {
	case most == down:
		return isDown
	case most == up, most == present && least != missing:
		return isUp
	case most == missing:
		return isMissing
	}
	return unknown
}
