package collective_test

import (
	"math"
	"slices"
	"strconv"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/network"
)

// model is a fluid model of a fabric with a collective and other flows: flows share
// ports max-min fairly, ports with a full queue pause the ports before them, and a
// paused port serves its flows in order, so that none is faster than the slowest. It is
// independent of the method under test: a culprit's true cost is found by running the
// model without it.
type model struct {
	fabric   network.Fabric
	capacity map[hopPort]float64 // bytes per ns
	pfc      bool
	ranks    []int // host of each rank
	steps    int
	program  func(rank, step int) (peer int, bytes int64)
	others   []*flowing
	delay    map[[2]int]int64    // rank, step: begins so much later
	stop     map[[2]int]bool     // rank, step: never begins
	paused   map[hopPort]bool    // by the host behind it
	degraded map[hopPort]float64 // actual share of a port's rate
	choose   int                 // which of equal paths the flows take

	now     float64
	running []*flowing
	out     collective.Run
	done    map[[2]int]int64
	begun   map[[2]int]bool
	record  int
	before  map[hopPort]map[*flowing]float64 // bytes by port and flow in the epoch
	last    map[hopPort]map[*flowing]float64
	waiting map[hopPort]bool
	polled  map[*flowing]bool
}

type hopPort struct{ node, port int }

type flowing struct {
	source, destination int
	bytes, left         float64
	begin, end          int64
	path                []hopPort
	rank, step          int // of the collective; rank -1 otherwise
	rate                float64
	neck                hopPort
	gone                bool
}

const (
	gigabit   = 0.125 // bytes per ns
	lineRate  = 25 * gigabit
	modelTick = 1e6
)

// joiner adds nodes, the first of which are switches, and returns what links two of them, each at its next port.
func joiner(f *network.Fabric, switches, nodes int, delayNanos int64) func(a, b int) {
	for i := range nodes {
		f.Nodes = append(f.Nodes, network.Node{Name: strconv.Itoa(i), Switch: i < switches})
	}
	ports := map[int]int{}
	return func(a, b int) {
		ports[a]++
		ports[b]++
		f.Links = append(f.Links, network.Link{A: a, B: b, APort: ports[a], BPort: ports[b], BitsPerSecond: 25e9, DelayNanos: delayNanos})
	}
}

// halfFatTree is the fabric of the recorded runs: ToR 0-3, aggregation 4-7, core
// 8-11, hosts 12-19.
func halfFatTree() network.Fabric {
	var f network.Fabric
	join := joiner(&f, 12, 20, 3000)
	for h := 12; h < 20; h++ {
		join(h, (h-12)/2)
	}
	for tor := range 4 {
		join(tor, 4+tor/2*2)
		join(tor, 5+tor/2*2)
	}
	for agg := range 4 {
		join(4+agg, 8+agg%2*2)
		join(4+agg, 9+agg%2*2)
	}
	return f
}

func newModel() *model {
	m := &model{fabric: halfFatTree(), pfc: true, delay: map[[2]int]int64{}, stop: map[[2]int]bool{}, paused: map[hopPort]bool{}, degraded: map[hopPort]float64{}, steps: 14}
	for h := 12; h < 20; h++ {
		m.ranks = append(m.ranks, h)
	}
	m.program = func(rank, _ int) (int, int64) { return (rank + 1) % 8, 40_000_000 }
	return m
}

func halvingDoubling(rank, step int) (int, int64) {
	if step > 3 {
		step = 7 - step
	}
	return rank ^ 1<<(step-1), 160_000_000 >> (step - 1)
}

// background adds a flow; removing it shows what it costs.
func (m *model) background(source, destination int, bytes float64, begin int64) {
	m.others = append(m.others, &flowing{source: source, destination: destination, bytes: bytes, begin: begin, rank: -1})
}

// rate sets the rate of the link at a switch's port, both ways, in Gb/s.
func (m *model) rate(node, port int, gigabits float64) {
	for i, l := range m.fabric.Links {
		if l.A == node && l.APort == port || l.B == node && l.BPort == port {
			m.fabric.Links[i].BitsPerSecond = int64(gigabits * 1e9)
		}
	}
}

func (m *model) neighbour(p hopPort) (hopPort, bool) {
	for _, l := range m.fabric.Links {
		if l.A == p.node && l.APort == p.port {
			return hopPort{l.B, l.BPort}, true
		}
		if l.B == p.node && l.BPort == p.port {
			return hopPort{l.A, l.APort}, true
		}
	}
	return hopPort{}, false
}

// path returns a shortest path; the two ends determine the choice among equal ones.
func (m *model) path(from, to int) []hopPort {
	distance := map[int]int{to: 0}
	for queue := []int{to}; len(queue) > 0; queue = queue[1:] {
		for p := 1; ; p++ {
			n, ok := m.neighbour(hopPort{queue[0], p})
			if !ok {
				break
			}
			if _, seen := distance[n.node]; !seen {
				distance[n.node] = distance[queue[0]] + 1
				queue = append(queue, n.node)
			}
		}
	}
	var out []hopPort
	for at := from; at != to; {
		var ways []hopPort
		for p := 1; ; p++ {
			n, ok := m.neighbour(hopPort{at, p})
			if !ok {
				break
			}
			if distance[n.node] == distance[at]-1 {
				ways = append(ways, hopPort{at, p})
			}
		}
		way := ways[m.choose%len(ways)]
		out = append(out, way)
		next, _ := m.neighbour(way)
		at = next.node
	}
	return out
}

// cap is a rate that a flow cannot exceed behind a paused port.
type cap struct {
	rate float64
	at   hopPort
}

// allot computes every flow's rate: max-min fair, but no flow through a paused port is
// faster than the flow that waits for the pause.
func (m *model) allot() {
	limit := map[*flowing]cap{}
	before := m.waiting
	m.waiting = map[hopPort]bool{}
	for range 12 {
		m.fair(limit)
		if !m.pfc || !m.pause(limit) {
			break
		}
	}
	m.frames(before)
}

// frames records the PFC frames of ports that stop or resume.
func (m *model) frames(before map[hopPort]bool) {
	for node := range m.fabric.Nodes {
		for p := 1; p <= 4; p++ {
			at := hopPort{node, p}
			if m.waiting[at] != before[at] {
				m.out.Pauses = append(m.out.Pauses, collective.Pause{TimeNanos: int64(m.now), Node: node, Port: p, Resume: before[at]})
			}
		}
	}
}

// pause stops the ports before full ones and records which flows that limits.
func (m *model) pause(limit map[*flowing]cap) (changed bool) {
	for _, f := range m.running {
		at := slices.Index(f.path, f.neck)
		if at < 1 || !m.congested(f.neck) && !m.waiting[f.neck] {
			continue
		}
		for _, p := range f.path[:at] {
			if !m.waiting[p] {
				m.waiting[p], changed = true, true
			}
			for _, g := range m.running {
				if g != f && slices.Contains(g.path, p) && g.rate > f.rate*1.001 {
					limit[g] = cap{f.rate, p}
					changed = true
				}
			}
		}
	}
	return changed
}

// congested reports whether a port gets more than it can send, from several ports.
func (m *model) congested(p hopPort) bool {
	if m.paused[p] || m.degraded[p] > 0 {
		return true
	}
	from := map[int]bool{}
	for _, f := range m.running {
		for i, q := range f.path {
			if q == p && i > 0 && f.neck == p {
				in, _ := m.neighbour(f.path[i-1])
				from[in.port] = true
			}
		}
	}
	return len(from) > 1 && m.fabric.Nodes[p.node].Switch
}

func (m *model) fair(limit map[*flowing]cap) {
	free := map[hopPort]float64{}
	count := map[hopPort]int{}
	open := map[*flowing]bool{}
	for _, f := range m.running {
		open[f] = true
		for _, p := range f.path {
			free[p] = m.capacity[p]
			count[p]++
		}
	}
	for len(open) > 0 {
		share, neck := math.Inf(1), hopPort{}
		var capped *flowing
		for p, n := range count {
			if s := free[p] / float64(n); n > 0 && (s < share || s == share && (p.node < neck.node || p.node == neck.node && p.port < neck.port)) {
				share, neck = s, p
			}
		}
		for f := range open {
			if l := limit[f]; l.rate > 0 && l.rate < share {
				share, capped = l.rate, f
			}
		}
		for _, f := range m.running {
			if !open[f] || capped != nil && f != capped || capped == nil && !slices.Contains(f.path, neck) {
				continue
			}
			f.rate, f.neck = share, neck
			if capped != nil {
				f.neck = limit[f].at
			}
			delete(open, f)
			for _, p := range f.path {
				free[p] -= share
				count[p]--
			}
		}
	}
}

// run plays the collective and returns its records.
func (m *model) run() collective.Run {
	m.capacity = map[hopPort]float64{}
	for _, l := range m.fabric.Links {
		m.capacity[hopPort{l.A, l.APort}] = float64(l.BitsPerSecond) * 1e-9 / 8 / 1.0369
		m.capacity[hopPort{l.B, l.BPort}] = m.capacity[hopPort{l.A, l.APort}]
	}
	for p := range m.paused {
		m.capacity[p] *= 0.4
	}
	for p, share := range m.degraded {
		m.capacity[p] *= share
	}
	m.waiting = nil
	m.now, m.running, m.done, m.begun = 0, nil, map[[2]int]int64{}, map[[2]int]bool{}
	m.before, m.last = map[hopPort]map[*flowing]float64{}, map[hopPort]map[*flowing]float64{}
	m.record, m.polled = 0, map[*flowing]bool{}
	m.out = collective.Run{Fabric: &m.fabric, Communicators: []collective.Communicator{{Name: "model"}}}
	for i, h := range m.ranks {
		m.out.Ranks = append(m.out.Ranks, collective.Rank{Node: strconv.Itoa(h), Host: h})
		m.out.Communicators[0].Members = append(m.out.Communicators[0].Members, i)
	}
	for _, f := range m.others {
		f.left, f.path, f.gone = f.bytes, m.path(f.source, f.destination), false
	}
	for tick := modelTick; m.now < 2e9; {
		m.start()
		m.allot()
		next := m.next(tick)
		m.move(next - m.now)
		if m.now = next; m.now >= tick {
			m.epoch()
			tick += modelTick
		}
		if len(m.running) == 0 && !m.pending() {
			break
		}
	}
	return m.out
}
