package fluid

import (
	"math"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// tolerance of comparisons between rates that should be equal.
const tolerance = 1e-9

// solver holds the state of one Solve, by resource and by flow. Its memory is reused by
// the next.
type solver struct {
	sent      []float64 // by resource: what endpoints want to send
	offered   []float64 // the same, limited by their sending side
	load      []float64
	remaining []float64 // capacity not yet allocated
	active    []int32   // flows not yet frozen
	limit     []float64 // the most a flow may have here due to a block downstream
	limitRoot []Resource

	flows   []flow
	demands []int32 // flows by ascending demand
	byRes   []entry // CSR: flows that cross a resource
	byOff   []uint32
	shares  shareHeap
	stamp   []uint32 // by resource: last channel for which it was counted as input
	groups  []*Flows
}

type flow struct {
	path   []Resource
	demand float64
	rate   float64
	group  int32
	index  int32
	hop    int32    // where in path the flow is blocked: it has passed path[:hop]; len(path) if it is not
	root   Resource // what ultimately blocks it; NoResource if nothing
	frozen bool
}

type entry struct{ flow, hop int32 }

// Solve computes max-min fair rates: no flow can get more unless one with no more gets
// less (Bertsekas and Gallager, Data Networks, 6.5.2). It uses progressive filling: the
// resource with the smallest equal share freezes its flows, and the rest is shared
// among the others.
//
// A blocked flow keeps the queues in front of the block full. Flows that share a queue
// with it may have at most VictimRatio times its rate, and are blocked by the same
// root.
func (m *Model) Solve(groups []*Flows, into *State) {
	s := &m.solver
	s.reset(len(m.nominal))
	s.groups = groups
	if m.offer(groups) {
		m.include(groups)
		m.fill()
		for i := range s.flows {
			f := &s.flows[i]
			for _, r := range f.path[1:] {
				s.load[r] += f.rate
			}
		}
	} else {
		copy(s.load, s.offered)
	}
	m.report(into)
}

func (s *solver) reset(resources int) {
	for _, f := range []*[]float64{&s.sent, &s.offered, &s.load, &s.remaining, &s.limit} {
		*f = scratch.Zeroed(*f, resources)
	}
	s.active, s.limitRoot = scratch.Zeroed(s.active, resources), scratch.Zeroed(s.limitRoot, resources)
	s.stamp = scratch.Zeroed(s.stamp, resources)
	s.flows, s.shares.Heap = s.flows[:0], s.shares.Heap[:0]
}

// offer sums the demand on every resource, and reports whether any exceeds its
// capacity. An endpoint's flows share its sending side in proportion to their demands.
func (m *Model) offer(groups []*Flows) (contended bool) {
	s := &m.solver
	for _, g := range groups {
		if g.Scale <= 0 {
			continue
		}
		for i, d := range g.demand {
			s.sent[g.path[g.off[i]]] += d * g.Scale
		}
	}
	for _, g := range groups {
		if g.Scale <= 0 {
			continue
		}
		for i := range g.demand {
			d := m.demand(g, i)
			for _, r := range g.path[g.off[i]+1 : g.off[i+1]] {
				s.offered[r] += d
			}
		}
	}
	for r, o := range s.offered {
		if o > m.Capacity(Resource(r))*(1+tolerance) {
			return true
		}
	}
	return false
}

// demand of flow i after the limit of its sending side.
func (m *Model) demand(g *Flows, i int) float64 {
	send := g.path[g.off[i]]
	d := g.demand[i] * g.Scale
	if sent, c := m.solver.sent[send], m.capacity[send]; sent > c {
		d *= c / sent
	}
	return d
}

// include lists the flows by resource and by demand.
func (m *Model) include(groups []*Flows) {
	s := &m.solver
	s.byOff = scratch.Zeroed(s.byOff, len(m.nominal)+1)
	for gi, g := range groups {
		if g.Scale <= 0 {
			continue
		}
		g.solved = len(s.flows)
		for i := range g.demand {
			path := g.Path(i)
			s.flows = append(s.flows, flow{path: path, demand: m.demand(g, i), group: int32(gi), index: int32(i), hop: int32(len(path)), root: NoResource})
			for _, r := range path[1:] {
				s.byOff[r+1]++
				s.active[r]++
			}
		}
	}
	for r := range m.nominal {
		s.byOff[r+1] += s.byOff[r]
		s.remaining[r] = m.Capacity(Resource(r))
		s.limit[r] = math.Inf(1)
	}
	s.byRes = slices.Grow(s.byRes[:0], int(s.byOff[len(m.nominal)]))[:s.byOff[len(m.nominal)]]
	s.demands = s.demands[:0]
	for i := range s.flows {
		s.demands = append(s.demands, int32(i))
		for hop, r := range s.flows[i].path {
			if hop > 0 {
				s.byRes[s.byOff[r]] = entry{int32(i), int32(hop)}
				s.byOff[r]++
			}
		}
	}
	copy(s.byOff[1:], s.byOff) // filling advanced each offset to the next one's place
	s.byOff[0] = 0
	slices.SortFunc(s.demands, func(a, b int32) int {
		switch da, db := s.flows[a].demand, s.flows[b].demand; {
		case da < db:
			return -1
		case da > db:
			return 1
		}
		return int(a - b)
	})
}

// fill is the water-filling. The shares on the heap are lower bounds: a share rises
// when other flows are frozen below it, and is updated when it reaches the top.
func (m *Model) fill() {
	s := &m.solver
	for r, o := range s.offered {
		if o > m.Capacity(Resource(r))*(1+tolerance) {
			s.shares.push(s.share(Resource(r)), Resource(r))
		}
	}
	next := 0
	for {
		for next < len(s.demands) && s.flows[s.demands[next]].frozen {
			next++
		}
		if next == len(s.demands) {
			return
		}
		f := &s.flows[s.demands[next]]
		if len(s.shares.Heap) == 0 || f.demand <= s.shares.least() {
			s.freeze(f, f.demand)
			continue
		}
		perFlow, res := s.shares.pop()
		if s.active[res] == 0 {
			continue
		}
		if now := s.share(res); now > perFlow*(1+tolerance) {
			s.shares.push(now, res)
			continue
		}
		m.saturate(res)
	}
}

// share is what each remaining flow on a resource may have.
func (s *solver) share(r Resource) float64 {
	return min(s.limit[r], max(0, s.remaining[r])/float64(max(1, s.active[r])))
}

// saturate freezes the remaining flows on r at their share.
func (m *Model) saturate(r Resource) {
	s := &m.solver
	rate, root, passed := s.share(r), r, int32(0)
	if s.limit[r] <= rate { // not full itself, but held up by a block downstream
		root, passed = s.limitRoot[r], 1
	}
	for _, e := range s.byRes[s.byOff[r]:s.byOff[r+1]] {
		f := &s.flows[e.flow]
		if f.frozen {
			continue
		}
		f.root, f.hop = root, e.hop+passed
		if passed == 0 {
			m.moveToFirstFull(f, rate)
		} else {
			s.moveToLastHeldUp(f, rate)
		}
		s.freeze(f, rate)
		m.holdUp(f)
	}
}

// moveToFirstFull moves a block to the first resource on the flow's path that is full
// at the same rate, or down and so passes nothing: that is where its queue forms.
func (m *Model) moveToFirstFull(f *flow, rate float64) {
	s := &m.solver
	for hop := int32(1); hop < f.hop; hop++ {
		if r := f.path[hop]; m.isDown(r) || s.remaining[r] <= rate*float64(s.active[r])*(1+tolerance) {
			f.hop, f.root = hop, r
			return
		}
	}
}

// isDown reports whether a resource is a channel that is down.
func (m *Model) isDown(r Resource) bool {
	return int(r) < m.channels.Len() && !m.channels.Up(routing.Channel(r))
}

// moveToLastHeldUp moves the block of a flow that shares a blocked flow's queues to the
// last shared one, since it is held up all the way to there.
func (s *solver) moveToLastHeldUp(f *flow, rate float64) {
	for int(f.hop) < len(f.path)-1 && s.limit[f.path[f.hop]] <= rate*(1+tolerance) {
		f.root = s.limitRoot[f.path[f.hop]]
		f.hop++
	}
}

func (s *solver) freeze(f *flow, rate float64) {
	f.frozen, f.rate = true, rate
	for _, r := range f.path[1:] {
		s.remaining[r] -= rate
		s.active[r]--
	}
}

// holdUp limits other flows on the channels that a blocked flow passes before its
// block.
func (m *Model) holdUp(f *flow) {
	if math.IsInf(m.cfg.VictimRatio, 1) {
		return
	}
	s := &m.solver
	limit := f.rate * m.cfg.VictimRatio
	for _, r := range f.path[1:f.hop] {
		if limit < s.limit[r] {
			s.limit[r], s.limitRoot[r] = limit, f.root
			if s.active[r] > 0 {
				s.shares.push(s.share(r), r)
			}
		}
	}
}

// report converts rates to the state of the channels.
//
// A sender alternates between computing and sending. If it would send d on average when
// alone but gets r < d, it is held up for the share 1-r/d of its time: sending takes
// longer, computing does not. A channel with several senders is held up for the share
// of their offer that was held back. It cannot stall while it sends, so the stall is at
// most its idle time.
func (m *Model) report(into *State) {
	s, n := &m.solver, m.channels.Len()
	into.LoadBytesPerSecond = append(into.LoadBytesPerSecond[:0], s.load[:n]...)
	into.OfferedPerSecond = append(into.OfferedPerSecond[:0], s.offered[:n]...)
	into.CreditStall, into.InqStall = scratch.Zeroed(into.CreditStall, n), scratch.Zeroed(into.InqStall, n)
	into.LostPerSecond = scratch.Zeroed(into.LostPerSecond, n)
	into.ReceiveStall = scratch.Zeroed(into.ReceiveStall, m.channels.Graph().NumDevices())
	for i := range s.flows {
		f := &s.flows[i]
		if f.root == NoResource {
			continue
		}
		heldBack := f.demand - f.rate
		for _, r := range f.path[1:min(int(f.hop), len(f.path)-1)] {
			into.CreditStall[r] += heldBack
		}
		if int(f.hop) == len(f.path)-1 {
			d, _ := m.Endpoint(f.path[f.hop])
			into.ReceiveStall[d] += heldBack
		} else if int(f.hop) < len(f.path) {
			into.InqStall[f.path[f.hop]] += heldBack
		}
	}
	for ch := range n {
		if s.offered[ch] <= 0 {
			continue
		}
		r := Resource(ch)
		used := min(1, s.load[ch]/m.Capacity(r))
		into.CreditStall[ch] = min(1-used, into.CreditStall[ch]/s.offered[ch])
		into.InqStall[ch] = max(min(m.inputSlack(r), into.InqStall[ch]/s.offered[ch]), m.cfg.ContentionShare*used*used)
		if !m.channels.Up(routing.Channel(ch)) {
			into.LostPerSecond[ch], into.LoadBytesPerSecond[ch] = s.load[ch], 0
		}
	}
	for d := range into.ReceiveStall {
		if o := s.offered[m.Receive(topology.DeviceID(d))]; o > 0 {
			into.ReceiveStall[d] /= o
		}
	}
}

// inputSlack is the largest share of time for which the inputs that feed a channel can
// wait for it: the part of their capacity not used by its load.
func (m *Model) inputSlack(r Resource) float64 {
	s := &m.solver
	if len(s.flows) == 0 {
		return 1
	}
	inputs := 0.
	for _, e := range s.byRes[s.byOff[r]:s.byOff[r+1]] {
		if in := s.flows[e.flow].path[e.hop-1]; s.stamp[in] != uint32(r)+1 {
			s.stamp[in] = uint32(r) + 1
			inputs += m.Capacity(in)
		}
	}
	return max(0, 1-s.load[r]/inputs)
}
