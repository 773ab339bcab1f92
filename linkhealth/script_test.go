package linkhealth_test

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/internal/test/script"
	"github.com/giverny/giverny/linkhealth"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestScripts runs testdata/*.txt. A script is a list of lines; what comes out of
// one stands behind it, after "> ":
//
//	new TOPOLOGY              a monitor of intervals of a minute; every port is heard of
//	graph TOPOLOGY            another version of the fabric
//	heard|missed|unread|unheard DEVICE[/PORT]...   from now on
//	state DEVICE/PORT VALUE   port state from now on; - for none
//	phys DEVICE/PORT VALUE    the same of the physical state
//	count COUNTER DEVICE/PORT N   a counter rises by so much in every interval from now on
//	load|stall DEVICE/PORT N      the link that leaves a port carries N bytes per second, or stalls for N percent, from now on;
//	                              - for unmeasured, also while neither of its ports is heard of
//	report KIND DEVICE[/PORT]     somebody reports an event in the next interval
//	step N                    intervals pass
//	restart                   a new process goes on with the saved state
//	resume                    a new process goes on with the events of the last step alone
func TestScripts(t *testing.T) {
	script.Run(t, "testdata/*.txt", func(t *testing.T, text string) string {
		whole := &machine{t: t}
		out := play(whole, text)
		for at := 1; at <= whole.steps; at += 1 + whole.steps/80 { // a restart changes nothing, whenever it is
			if again := play(&machine{t: t, restartAt: at}, text); again != out {
				t.Fatalf("with a restart before step %d: %s", at, cmp.Diff(strings.Split(out, "\n"), strings.Split(again, "\n")))
			}
		}
		return out
	})
}

// play returns a script with the actual output.
func play(m *machine, text string) string {
	var out strings.Builder
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "> ") {
			continue
		}
		out.WriteString(line + "\n")
		command, _, _ := strings.Cut(line, "#")
		if words := strings.Fields(command); len(words) > 0 {
			for _, e := range m.run(words) {
				out.WriteString("> " + e + "\n")
			}
		}
	}
	return out.String()
}

type machine struct {
	t        *testing.T
	graph    *topology.Graph
	monitor  *linkhealth.Monitor
	presence map[schema.PortName]schema.Presence
	states   map[string]map[schema.PortName]uint64 // by column
	rises    map[string]map[schema.PortName]uint64
	values   map[string]map[schema.PortName]uint64
	traffic  map[string]map[schema.PortName]uint64 // load and stall, by the port that a link leaves
	reports  []schema.Event
	last     []schema.Event
	interval schema.Interval
	// The number of intervals so far, and before which one a new process goes on, unless counters rise: it would lose
	// their rise in that interval. 0: none.
	steps, restartAt int
}

func (m *machine) run(words []string) (out []string) {
	var err error
	switch words[0] {
	case "new":
		*m = machine{t: m.t, steps: m.steps, restartAt: m.restartAt, graph: m.parse(words[1]), presence: map[schema.PortName]schema.Presence{}, states: map[string]map[schema.PortName]uint64{},
			rises: map[string]map[schema.PortName]uint64{}, values: map[string]map[schema.PortName]uint64{}, traffic: map[string]map[schema.PortName]uint64{}, interval: schema.IntervalAt(0, int64(time.Minute))}
		m.monitor, err = linkhealth.New(m.graph, linkhealth.DefaultConfig())
	case "graph":
		m.graph = m.parse(words[1])
		m.monitor.SetGraph(m.graph)
	case "heard", "missed", "unread", "unheard":
		for _, name := range words[1:] {
			for _, p := range m.ports(name) {
				m.presence[p] = map[string]schema.Presence{"heard": schema.Heard, "missed": schema.Missed, "unread": schema.Unread, "unheard": schema.Unheard}[words[0]]
			}
		}
	case "state", "phys":
		column := map[string]string{"state": "ib.port_state", "phys": "ib.port_phys_state"}[words[0]]
		set(m.states, column, m.ports(words[1])[0], words[2])
	case "count":
		set(m.rises, words[1], m.ports(words[2])[0], words[3])
	case "load", "stall":
		set(m.traffic, words[0], m.ports(words[1])[0], words[2])
	case "report":
		device, port, _ := strings.Cut(words[2], "/")
		m.reports = append(m.reports, schema.Event{Kind: schema.EventKind(words[1]), Device: device, Port: port})
	case "step":
		n, _ := strconv.Atoi(words[1])
		m.last = nil
		for range n {
			out = append(out, m.step()...)
		}
	case "restart":
		m.monitor, err = linkhealth.Load(m.graph, linkhealth.DefaultConfig(), m.monitor.Save())
	case "resume":
		if m.monitor, err = linkhealth.New(m.graph, linkhealth.DefaultConfig()); err == nil {
			m.monitor.Restore(m.interval, m.last)
		}
	default:
		m.t.Fatalf("unknown command %q", words)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

func (m *machine) parse(spec string) *topology.Graph {
	g, err := topology.Parse("f", spec)
	if err != nil {
		m.t.Fatal(err)
	}
	return g
}

func set(of map[string]map[schema.PortName]uint64, column string, p schema.PortName, text string) {
	if of[column] == nil {
		of[column] = map[schema.PortName]uint64{}
	}
	delete(of[column], p)
	if v, err := strconv.ParseUint(text, 10, 64); err == nil {
		of[column][p] = v
	}
}

// ports are the one named, or all of a device.
func (m *machine) ports(name string) (ports []schema.PortName) {
	device, port, one := strings.Cut(name, "/")
	for l := range schema.LinkID(m.graph.NumLinks()) {
		for _, p := range m.ends(l) {
			if p.Device == device && (!one || p.Port == port) {
				ports = append(ports, p)
			}
		}
	}
	if len(ports) == 0 {
		m.t.Fatalf("no port %q", name)
	}
	return ports
}

func (m *machine) ends(l schema.LinkID) [2]schema.PortName {
	link := m.graph.Link(l)
	return [2]schema.PortName{{Device: m.graph.Device(link.From).Name, Port: link.FromPort}, {Device: m.graph.Device(link.To).Name, Port: link.ToPort}}
}

func (m *machine) step() (out []string) {
	snap := &schema.Snapshot{Fabric: "f", Interval: m.interval, Links: m.graph.NumLinks()}
	for l := range schema.LinkID(snap.Links) {
		ends := m.ends(l)
		snap.Ports.From, snap.Ports.To = append(snap.Ports.From, m.presenceOf(ends[0])), append(snap.Ports.To, m.presenceOf(ends[1]))
	}
	snap.Series = []schema.Series{m.series("load", schema.Throughput, snap), m.series("stall", schema.CreditStall, snap)}
	for column, rises := range m.rises {
		for p, n := range rises {
			set(m.values, column, p, strconv.FormatUint(m.values[column][p]+n, 10))
		}
	}
	var raw []*schema.CounterBatch
	for _, columns := range []map[string]map[schema.PortName]uint64{m.states, m.values} {
		for column, values := range columns {
			for p, v := range values {
				raw = append(raw, &schema.CounterBatch{Fabric: "f", Ports: []schema.PortName{p}, TimeNanos: []int64{m.interval.StartNanos}, PortIndex: []uint32{0},
					Columns: []schema.CounterColumn{{Name: column, Values: []uint64{v}}}})
			}
		}
	}
	saved := m.monitor.Save()
	loaded, err := linkhealth.Load(m.graph, linkhealth.DefaultConfig(), saved)
	if err != nil || !bytes.Equal(loaded.Save(), saved) {
		m.t.Fatalf("at %v: the saved state comes back as another: %v", time.Duration(m.interval.StartNanos), err)
	}
	if m.steps++; m.steps == m.restartAt && m.quiet() {
		m.monitor = loaded
	}
	events := m.monitor.Step(snap, raw, m.reports)
	m.last = append(append(m.last, m.reports...), events...)
	for _, e := range events {
		out = append(out, fmt.Sprintf("%s %s %s/%s: %s", time.Duration(e.TimeNanos), e.Kind, e.Device, e.Port, e.Detail))
	}
	m.reports, m.interval = nil, m.interval.Next()
	return out
}

// series are the values of the links that one of their ports measures.
func (m *machine) series(name string, metric schema.Metric, snap *schema.Snapshot) schema.Series {
	s := schema.Series{Metric: metric, Values: make([]float32, snap.Links), Valid: schema.Bitmap{}.Resize(snap.Links)}
	for l := range schema.LinkID(snap.Links) {
		ends := m.ends(l)
		v, given := m.traffic[name][ends[0]]
		if back, known := m.traffic[name][ends[1]]; m.graph.Duplex() && known {
			v, given = max(v, back), true
		}
		if given && (snap.Ports.From[l] == schema.Heard || snap.Ports.To[l] == schema.Heard) {
			s.Values[l] = float32(v)
			s.Valid.Set(int(l))
		}
	}
	return s
}

// quiet reports whether no counter rises.
func (m *machine) quiet() bool {
	for _, rises := range m.rises {
		for _, n := range rises {
			if n > 0 {
				return false
			}
		}
	}
	return true
}

func (m *machine) presenceOf(p schema.PortName) schema.Presence {
	if is, known := m.presence[p]; known {
		return is
	}
	return schema.Heard
}
