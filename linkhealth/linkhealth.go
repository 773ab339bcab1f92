// Package linkhealth judges whether links and devices live. In go, interval by
// interval, whose ports were heard of, the diagnostic counters and port states as
// they were read, and what others reported of failures; out come events: a link,
// switch or node failed or is back, a link makes errors or flaps. It debounces,
// and reports one cause once: the links of a switch that is gone are part of its
// event, and so are the nodes that it cuts off. An agent that is silent says
// nothing of its devices: that is silence, no failure. There is no clock, goroutine
// or I/O here.
//
// # What counts as down
//
// A port says of its link that it is up (port state active, or physical state
// LinkUp) or down (any other); without a state it is merely present. A port that
// is missing, since its agent reports most of its ports but not this one, says so
// too. A link is down if one of its ports says so, or if one is missing and the
// other neither present nor up. A device is gone if none of its ports is read,
// none of its neighbours sees it up, and either one of its ports is missing, or it
// reported once and all its neighbours see it down. A device that does not answer
// while a neighbour sees its link up is busy, not gone. Silence alone counts once
// it has lasted for longer than lost readings explain, at the rate at which ports
// lose single ones at the time (loss.patience).
package linkhealth

import (
	"fmt"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Monitor judges one fabric. It is not safe for concurrent use.
type Monitor struct {
	cfg    Config
	graph  *topology.Graph
	layout layout

	devices []watch    // by device
	links   []watch    // by cable
	flaps   []bool     // by cable: link_flapping was reported, and it has not been calm since
	ends    []endState // by end

	losses [numKinds]loss

	until int64 // end of the last interval; 0 before the first

	// Of the interval at hand:
	sights []sight // by end
	silent []bool  // by device: nothing is read of it, though its agent reports
	events []schema.Event

	interval int64         // its length
	verdicts []verdict     // by device
	patience [numKinds]int // for how many intervals a silence is none yet

	resolved []int32 // ends of the ports of the batch at hand
}

// New makes the monitor of one version of a fabric.
func New(g *topology.Graph, cfg Config) (*Monitor, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("link health of fabric %q: %w", g.Fabric(), err)
	}
	m := &Monitor{cfg: cfg}
	m.take(g)
	return m, nil
}

// take begins with a version of the fabric of which nothing is known.
func (m *Monitor) take(g *topology.Graph) {
	m.graph, m.layout = g, newLayout(g)
	cables := len(m.layout.cables)
	m.devices, m.links, m.flaps = make([]watch, g.NumDevices()), make([]watch, cables), make([]bool, cables)
	m.ends = make([]endState, 2*cables)
	m.sights, m.silent, m.verdicts = make([]sight, 2*cables), make([]bool, g.NumDevices()), make([]verdict, g.NumDevices())
}

// Step judges an interval, and returns its events, which hold until the next
// call. What others reported of failures, in reported, is taken as it is and not
// repeated.
func (m *Monitor) Step(snap *schema.Snapshot, raw []*schema.CounterBatch, reported []schema.Event) []schema.Event {
	m.events = m.events[:0]
	m.accept(reported)
	elapsed := snap.Interval.DurationNanos
	if m.until != 0 {
		elapsed = snap.Interval.EndNanos() - m.until
	}
	m.until, m.interval = snap.Interval.EndNanos(), snap.Interval.DurationNanos
	for k := range m.losses {
		m.losses[k].begin()
	}
	m.fade(elapsed)
	m.look(snap)
	m.read(raw)
	m.judgeDevices(snap.Interval.StartNanos)
	m.judgeLinks(snap.Interval.StartNanos)
	m.judgeErrors(snap.Interval.StartNanos)
	return m.events
}

// SetGraph goes on with another version of the fabric. Devices and links are known
// by their names; a link that joins other ports than before is another.
func (m *Monitor) SetGraph(g *topology.Graph) {
	old := *m
	m.take(g)
	for d := range m.devices {
		if was, ok := old.graph.FindDevice(g.Device(topology.DeviceID(d)).Name); ok {
			m.devices[d] = old.devices[was]
		}
	}
	known := make(map[[2]schema.PortName]int, len(old.layout.cables))
	for i := range old.layout.cables {
		known[old.layout.cables[i].names(old.graph)] = i
	}
	for i := range m.layout.cables {
		names := m.layout.cables[i].names(g)
		was, ok := known[names]
		turned := 0
		if !ok {
			turned = 1
			was, ok = known[[2]schema.PortName{names[1], names[0]}]
		}
		if !ok {
			continue
		}
		m.links[i], m.flaps[i] = old.links[was], old.flaps[was]
		m.ends[2*i], m.ends[2*i+1] = old.ends[2*was+turned], old.ends[2*was+1-turned]
	}
}

// accept takes over what others reported of failures.
func (m *Monitor) accept(reported []schema.Event) {
	for i := range reported {
		e := &reported[i]
		failed := e.Kind == schema.LinkFailed || e.Kind == schema.SwitchFailed || e.Kind == schema.NodeFailed
		switch e.Kind {
		case schema.LinkFailed, schema.LinkRestored:
			if end, ok := m.layout.endOf[schema.PortName{Device: e.Device, Port: e.Port}]; ok {
				m.links[end/2].accept(failed)
			}
		case schema.SwitchFailed, schema.SwitchRestored, schema.NodeFailed, schema.NodeRestored:
			if d, ok := m.graph.FindDevice(e.Device); ok {
				m.devices[d].accept(failed)
			}
		}
	}
}

func (m *Monitor) emit(nanos int64, kind schema.EventKind, device topology.DeviceID, port, detail string) {
	m.events = append(m.events, schema.Event{TimeNanos: nanos, Fabric: m.graph.Fabric(), Kind: kind,
		Device: m.graph.Device(device).Name, Port: port, Detail: detail})
}
