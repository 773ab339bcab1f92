// Package linkhealth judges the health of links and devices. The input for each
// interval is which ports were heard, the diagnostic counters and port states as read,
// and failures reported by others; the output is events: a link, switch or node failed
// or recovered, a link has errors or flaps. It debounces, and reports each cause once:
// the event of a failed switch includes its links and the nodes that it cuts off. A
// silent agent is no evidence about its devices. The package has no clock, goroutine or
// I/O.
//
// # What counts as down
//
// A port reports its link as up (port state active, or physical state LinkUp) or down (any
// other state); without a state the port is merely present. A port is missing if its agent
// reports most of its ports but not this one. A link is down if one of its ports says so, or,
// by missing readings, if one is missing and the other neither present nor up. A device has
// failed if none of its ports is read, none of its neighbours sees it up, and either one of
// its ports is missing, or it reported once and all its neighbours see it down. A device that
// does not answer while a neighbour sees its link up, or while most of its cables that carried
// traffic still do, is silent, not failed: its links work, and only its readings are missing
// (traffic.go). Missing readings alone count once they last longer than lost readings explain,
// given the current rate of single lost readings (loss.patience).
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
	flaps   []bool     // by cable: link_flapping was reported and is not over
	used    []bool     // by cable: it carried traffic when both of its devices last reported
	ends    []endState // by end

	losses [numKinds]loss

	until int64 // end of the last interval; 0 before the first

	// State of the current interval:
	sights  []sight // by end
	flows   []flow  // by cable
	missing []bool  // by device: nothing is read from it, though its agent reports
	events  []schema.Event

	interval int64         // its duration
	verdicts []verdict     // by device
	patience [numKinds]int // number of intervals without readings that count as failure

	resolved []int32 // ends of the current batch's ports
}

// New returns the monitor for one version of a fabric.
func New(g *topology.Graph, cfg Config) (*Monitor, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("link health of fabric %q: %w", g.Fabric(), err)
	}
	m := &Monitor{cfg: cfg}
	m.take(g)
	return m, nil
}

// take initialises the state for a version of the fabric.
func (m *Monitor) take(g *topology.Graph) {
	m.graph, m.layout = g, newLayout(g)
	cables := len(m.layout.cables)
	m.devices, m.links, m.flaps = make([]watch, g.NumDevices()), make([]watch, cables), make([]bool, cables)
	m.used, m.flows = make([]bool, cables), make([]flow, cables)
	m.ends = make([]endState, 2*cables)
	m.sights, m.missing, m.verdicts = make([]sight, 2*cables), make([]bool, g.NumDevices()), make([]verdict, g.NumDevices())
}

// Step judges an interval and returns its events, which are valid until the next call.
// Failures reported by others, in reported, are accepted as they are and not repeated.
func (m *Monitor) Step(snap *schema.Snapshot, raw []*schema.CounterBatch, reported []schema.Event) []schema.Event {
	m.events = m.events[:0]
	m.accept(reported, true)
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
	m.measure(snap)
	m.judgeDevices(snap.Interval.StartNanos)
	m.remember()
	m.judgeLinks(snap.Interval.StartNanos)
	m.judgeErrors(snap.Interval.StartNanos)
	return m.events
}

// HasFailed reports whether there is evidence that a link, or a device at one of its ends, has failed and is not restored:
// a report of others, a port's state, or cables of it that carry nothing any more. Failures by missing readings alone do not count.
func (m *Monitor) HasFailed(l schema.LinkID) bool {
	link := m.graph.Link(l)
	end := m.layout.endOf[schema.PortName{Device: m.graph.Device(link.From).Name, Port: link.FromPort}]
	return m.devices[link.From].isEvident() || m.devices[link.To].isEvident() || m.links[end/2].isEvident()
}

// SetGraph continues with another version of the fabric. Devices and links are matched
// by name; a link between other ports than before is a new one.
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
		m.links[i], m.flaps[i], m.used[i] = old.links[was], old.flaps[was], old.used[was]
		m.ends[2*i], m.ends[2*i+1] = old.ends[2*was+turned], old.ends[2*was+1-turned]
	}
}

// accept records failures, which others report or an earlier process found, perhaps by missing readings alone.
func (m *Monitor) accept(reported []schema.Event, byOthers bool) {
	for i := range reported {
		e := &reported[i]
		failed := e.Kind == schema.LinkFailed || e.Kind == schema.SwitchFailed || e.Kind == schema.NodeFailed
		switch e.Kind {
		case schema.LinkFailed, schema.LinkRestored:
			if end, ok := m.layout.endOf[schema.PortName{Device: e.Device, Port: e.Port}]; ok {
				m.links[end/2].accept(failed, false, byOthers)
			}
		case schema.SwitchFailed, schema.SwitchRestored, schema.NodeFailed, schema.NodeRestored,
			schema.SwitchSilent, schema.SwitchReporting, schema.NodeSilent, schema.NodeReporting:
			if d, ok := m.graph.FindDevice(e.Device); ok {
				m.devices[d].accept(failed, e.Kind == schema.SwitchSilent || e.Kind == schema.NodeSilent, byOthers)
			}
		}
	}
}

func (m *Monitor) emit(nanos int64, kind schema.EventKind, device topology.DeviceID, port, detail string) {
	m.events = append(m.events, schema.Event{TimeNanos: nanos, Fabric: m.graph.Fabric(), Kind: kind,
		Device: m.graph.Device(device).Name, Port: port, Detail: detail})
}
