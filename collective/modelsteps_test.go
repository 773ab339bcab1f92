package collective_test

import (
	"math"
	"slices"

	"github.com/giverny/giverny/collective"
)

// ready is when a rank may begin a step, or false.
func (m *model) ready(rank, step int) (at int64, ok bool) {
	if step > 1 {
		own, ended := m.done[[2]int{rank, step - 1}]
		if !ended {
			return 0, false
		}
		at = own
		for from := range m.ranks {
			if to, _ := m.program(from, step-1); to == rank {
				data, arrived := m.done[[2]int{from, step - 1}]
				if !arrived {
					return 0, false
				}
				at = max(at, data)
			}
		}
	}
	return at + m.delay[[2]int{rank, step}], !m.stop[[2]int{rank, step}]
}

// start begins what is ready: steps with all inputs, and other flows.
func (m *model) start() {
	for rank := range m.ranks {
		for step := 1; step <= m.steps; step++ {
			at, ok := m.ready(rank, step)
			if m.begun[[2]int{rank, step}] || !ok || float64(at) > m.now+0.5 {
				continue
			}
			m.begun[[2]int{rank, step}] = true
			peer, bytes := m.program(rank, step)
			m.running = append(m.running, &flowing{source: m.ranks[rank], destination: m.ranks[peer], bytes: float64(bytes), left: float64(bytes), begin: int64(math.Round(m.now)), path: m.path(m.ranks[rank], m.ranks[peer]), rank: rank, step: step})
		}
	}
	for _, f := range m.others {
		if !f.gone && float64(f.begin) <= m.now && f.left == f.bytes && !slices.Contains(m.running, f) {
			m.running = append(m.running, f)
		}
	}
}

// pending reports whether something will begin later.
func (m *model) pending() bool {
	for _, f := range m.others {
		if float64(f.begin) > m.now {
			return true
		}
	}
	for rank := range m.ranks {
		for step := 1; step <= m.steps; step++ {
			if _, ok := m.ready(rank, step); ok && !m.begun[[2]int{rank, step}] {
				return true
			}
		}
	}
	return false
}

// next is the time of the next change: an end, a begin, or the end of the epoch.
func (m *model) next(tick float64) float64 {
	next := tick
	for _, f := range m.running {
		next = min(next, m.now+f.left/f.rate)
	}
	for _, f := range m.others {
		if float64(f.begin) > m.now {
			next = min(next, float64(f.begin))
		}
	}
	for rank := range m.ranks {
		for step := 1; step <= m.steps; step++ {
			if at, ok := m.ready(rank, step); ok && !m.begun[[2]int{rank, step}] && float64(at) > m.now {
				next = min(next, float64(at))
			}
		}
	}
	return next
}

func (m *model) move(d float64) {
	for _, f := range m.running {
		for _, p := range f.path {
			if m.before[p] == nil {
				m.before[p] = map[*flowing]float64{}
			}
			m.before[p][f] += f.rate * d
		}
		if f.left -= f.rate * d; f.left > 1e-3 {
			continue
		}
		f.gone = true
		end := int64(math.Round(m.now + d))
		if f.end = end; f.rank < 0 {
			continue
		}
		m.done[[2]int{f.rank, f.step}] = end
		peer, bytes := m.program(f.rank, f.step)
		m.out.Steps = append(m.out.Steps, collective.StepRecord{
			Step: int32(f.step), Rank: int32(f.rank), Peer: int32(peer), Bytes: bytes, BeginNanos: f.begin, EndNanos: max(end, 1),
			AloneNanos: int64(float64(bytes) / (lineRate / 1.0369)), AwaitsRank: collective.None,
		})
	}
	m.running = slices.DeleteFunc(m.running, func(f *flowing) bool { return f.gone })
}

// epoch ends a millisecond of telemetry. Flows of the collective that take long are
// polled once per step, as the simulation does.
func (m *model) epoch() {
	m.last, m.before = m.before, map[hopPort]map[*flowing]float64{}
	for _, f := range m.running {
		if f.rank < 0 || m.polled[f] || m.now-float64(f.begin) < f.bytes/lineRate*1.15 {
			continue
		}
		m.polled[f] = true
		m.record++
		for _, p := range f.path[1:] {
			m.report(p, 0, 0)
		}
		for _, p := range f.path {
			if m.isPaused(p) {
				m.signal(p, 0)
			}
		}
	}
}

func (m *model) isPaused(p hopPort) bool { return m.waiting[p] || m.paused[p] }

// signal follows a paused port: the egress ports behind it that its traffic uses.
func (m *model) signal(p hopPort, depth int) {
	in, ok := m.neighbour(p)
	if !ok || !m.fabric.Nodes[in.node].Switch || depth > 6 {
		return
	}
	m.record++
	for out := 1; ; out++ {
		q := hopPort{in.node, out}
		if _, ok := m.neighbour(q); !ok {
			return
		}
		bytes := 0.0
		for f, sent := range m.last[q] {
			if slices.Contains(f.path, p) {
				bytes += sent
			}
		}
		if bytes == 0 {
			continue
		}
		m.report(q, in.port, int64(bytes))
		if m.isPaused(q) {
			m.signal(q, depth+1)
		}
	}
}

func (m *model) report(p hopPort, in int, meter int64) {
	r := collective.PortReport{Record: m.record, TimeNanos: int64(m.now), EpochNanos: int64(m.now) - modelTick, LastNanos: int64(m.now), Switch: p.node, Port: p.port, Signal: in > 0, In: in, MeterBytes: meter}
	queue := int64(1)
	if m.congested(p) {
		queue = 60
	}
	for f, sent := range m.last[p] {
		row := collective.FlowReport{Source: f.source, Destination: f.destination, SourcePort: 10000, DestinationPort: 10000, Collective: f.rank >= 0, Packets: int64(sent / 1300)}
		row.MaxSeq = int64(f.bytes - f.left)
		row.MinSeq = row.MaxSeq - int64(sent)
		if m.isPaused(p) {
			row.Paused = row.Packets * 9 / 10
		}
		row.QueueSum = queue * (row.Packets - row.Paused)
		r.Packets, r.QueueSum, r.Paused = r.Packets+row.Packets, r.QueueSum+row.QueueSum, r.Paused+row.Paused
		r.Flows = append(r.Flows, row)
	}
	m.out.Telemetry = append(m.out.Telemetry, r)
}
