package linkhealth

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// deviceKinds are the kinds of the events of nodes and switches.
var deviceKinds = [...]struct{ failed, restored, silent, reporting schema.EventKind }{
	nodes:    {schema.NodeFailed, schema.NodeRestored, schema.NodeSilent, schema.NodeReporting},
	switches: {schema.SwitchFailed, schema.SwitchRestored, schema.SwitchSilent, schema.SwitchReporting},
}

// emitDevice reports how a device's state changed, with its ports.
func (m *Monitor) emitDevice(nanos int64, d topology.DeviceID, was watch) {
	k, now, word := kindOf(m.graph, d), &m.devices[d], "node"
	if k == switches {
		word = "switch"
	}
	if was.failed && !now.failed {
		m.emit(nanos, deviceKinds[k].restored, d, "", word+" is back: "+m.portsOf(d))
	}
	switch {
	case now.failed:
		text := m.unanswered(d) + m.whyFailed(d) + ": " + m.portsOf(d)
		if cut := m.cutOffBy(d); len(cut) > 0 {
			text += "; cuts off " + ranges(cut)
		}
		m.emit(nanos, deviceKinds[k].failed, d, "", text)
	case now.silent:
		m.emit(nanos, deviceKinds[k].silent, d, "", m.unanswered(d)+", but it works: "+m.whyWorks(d)+"; check the agent or collector that reads it, and its clock: "+m.portsOf(d))
	case was.silent:
		m.emit(nanos, deviceKinds[k].reporting, d, "", word+" reports again: "+m.portsOf(d))
	}
}

func (m *Monitor) unanswered(d topology.DeviceID) string {
	k := kindOf(m.graph, d)
	switch n := m.devices[d].bad; {
	case n == 1:
		return "not reporting for one interval"
	case m.patience[k] > m.cfg.DebounceIntervals:
		return fmt.Sprintf("not reporting for %d intervals (normally %.2g%% of reports are lost)", n, 100*m.losses[k].rate())
	default:
		return fmt.Sprintf("not reporting for %d intervals", n)
	}
}

// whyWorks says what shows that a device works which does not report.
func (m *Monitor) whyWorks(d topology.DeviceID) string {
	for _, end := range m.layout.at[d] {
		if m.sights[far(end)].what == up {
			return "its neighbours report their links to it as up"
		}
	}
	return "its neighbours exchange traffic with it"
}

// whyFailed says what shows that a device which does not report has failed or, if nothing does, which evidence is missing.
func (m *Monitor) whyFailed(d topology.DeviceID) string {
	seenDown, measured, used := m.devices[d].evident, false, false
	for _, end := range m.layout.at[d] {
		seenDown = seenDown || m.sights[far(end)].what == down
		measured, used = measured || m.flows[end/2] != unmeasured, used || m.used[end/2]
	}
	switch {
	case seenDown:
		return ", and its neighbours see their links to it down"
	case m.devices[d].alive < 0:
		return ", and its links carry nothing any more"
	case !measured:
		return "; whether its links still work is unknown, as its neighbours measure neither port states nor traffic on them"
	case !used:
		return "; whether its links still work is unknown, as they carried nothing before either"
	}
	return "; whether its links still work is unknown, as its neighbours' other links carry nothing any more either"
}

// portsOf lists a device's ports and their peers.
func (m *Monitor) portsOf(d topology.DeviceID) string {
	var ports, peers []string
	for _, end := range m.layout.at[d] {
		ports = append(ports, m.layout.port(end))
		peers = append(peers, m.graph.Device(m.layout.device(far(end))).Name)
	}
	word := "ports "
	if len(ports) == 1 {
		word = "port "
	}
	return word + ranges(ports) + " to " + ranges(peers)
}

// cutOffBy lists the missing nodes connected to this switch.
func (m *Monitor) cutOffBy(d topology.DeviceID) (nodes []string) {
	for _, end := range m.layout.at[d] {
		if n := m.layout.device(far(end)); m.missing[n] && !m.graph.IsSwitch(n) {
			nodes = append(nodes, m.graph.Device(n).Name)
		}
	}
	return nodes
}

// emitLink reports a link that has failed or recovered.
func (m *Monitor) emitLink(nanos int64, cable int, failed bool) {
	end := m.head(cable)
	kind, text := schema.LinkRestored, m.joins(end)+" is back"
	if failed {
		kind, text = schema.LinkFailed, m.joins(end)+" is down: "+m.whyDown(end)
	}
	m.emit(nanos, kind, m.layout.device(end), m.layout.port(end), text)
}

// head is the end at which a link's events are reported, independent of link numbering:
// the switch's end if the other is a node's, otherwise the first by name.
func (m *Monitor) head(cable int) int32 {
	a, b := int32(2*cable), int32(2*cable+1)
	names := m.layout.cables[cable].names(m.graph)
	switch aSwitch, bSwitch := m.graph.IsSwitch(m.layout.device(a)), m.graph.IsSwitch(m.layout.device(b)); {
	case aSwitch != bSwitch && aSwitch:
		return a
	case aSwitch != bSwitch:
		return b
	case cmp.Or(cmp.Compare(names[0].Device, names[1].Device), cmp.Compare(names[0].Port, names[1].Port)) <= 0:
		return a
	}
	return b
}

func (m *Monitor) joins(end int32) string {
	other := far(end)
	return fmt.Sprintf("link to %s port %s", m.graph.Device(m.layout.device(other)).Name, m.layout.port(other))
}

var stateNames = map[stateColumn][]string{
	logicalState:  {1: "down", 2: "initialising", 3: "armed"},
	physicalState: {1: "sleep", 2: "polling", 3: "disabled", 4: "training", 6: "error recovery", 7: "test"},
}

func (m *Monitor) whyDown(head int32) string {
	for _, end := range [...]int32{head, far(head)} {
		s := m.sights[end]
		if s.what != down {
			continue
		}
		name := ""
		if names := stateNames[s.state]; int(s.value) < len(names) {
			name = names[s.value]
		}
		return fmt.Sprintf("%s port %s is in state %s", m.graph.Device(m.layout.device(end)).Name, m.layout.port(end), cmp.Or(name, strconv.Itoa(int(s.value))))
	}
	return "its ports are no longer reported, those of its neighbours are"
}

func (m *Monitor) emitErrors(nanos int64, end int32, counter string, hourly, limit float64) {
	m.emit(nanos, schema.LinkErrors, m.layout.device(end), m.layout.port(end),
		fmt.Sprintf("%s rises by %.0f per hour, %.4g are allowed: %s", counter, hourly, limit, m.joins(end)))
}

func (m *Monitor) emitFlapping(nanos int64, cable int, hourly float64) {
	end := m.head(cable)
	m.emit(nanos, schema.LinkFlapping, m.layout.device(end), m.layout.port(end),
		fmt.Sprintf("%s lost its training %.0f times within the hour", m.joins(end), hourly))
}

// maxRanges is the maximum number of names or ranges in a list.
const maxRanges = 8

// ranges lists names, combining names that differ only in the last number: "1-4, 7",
// "leaf0-1, spine3".
func ranges(names []string) string {
	type name struct {
		stem   string
		number int // -1: none
	}
	split := make([]name, len(names))
	for i, n := range names {
		stem := strings.TrimRight(n, "0123456789")
		number, err := strconv.Atoi(n[len(stem):])
		if err != nil || strconv.Itoa(number) != n[len(stem):] { // leading zeros are part of the name
			stem, number = n, -1
		}
		split[i] = name{stem, number}
	}
	slices.SortFunc(split, func(a, b name) int { return cmp.Or(cmp.Compare(a.stem, b.stem), cmp.Compare(a.number, b.number)) })
	split = slices.Compact(split)
	var list []string
	for len(split) > 0 {
		n, first := 1, split[0]
		for n < len(split) && first.number >= 0 && split[n] == (name{first.stem, first.number + n}) {
			n++
		}
		text := first.stem
		if first.number >= 0 {
			text += strconv.Itoa(first.number)
		}
		if n > 1 {
			text += "-" + strconv.Itoa(first.number+n-1)
		}
		list, split = append(list, text), split[n:]
	}
	if len(list) > maxRanges {
		list = append(list[:maxRanges-1], fmt.Sprintf("%d more", len(list)-maxRanges+1))
	}
	return strings.Join(list, ", ")
}
