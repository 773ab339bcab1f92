package fluid

import "github.com/giverny/giverny/simulate/routing"

// Blame is one flow's contribution to the stall of a channel.
type Blame struct {
	Owner             int
	Root              Resource // the full resource that ultimately blocks the flow
	HeldBackPerSecond float64  // bytes/s that the flow offered and could not send
}

// EachBlocked calls yield for every flow that the last Solve found held up at or before
// the channel's far end, by the channel itself or by something behind it.
func (m *Model) EachBlocked(ch routing.Channel, yield func(Blame)) {
	s := &m.solver
	if len(s.flows) == 0 {
		return
	}
	for _, e := range s.byRes[s.byOff[ch]:s.byOff[ch+1]] {
		f := &s.flows[e.flow]
		if f.root == NoResource || e.hop > f.hop {
			continue
		}
		yield(m.blameOf(f))
	}
}

// EachHeldBack calls yield once for every flow that the last Solve found held up.
func (m *Model) EachHeldBack(yield func(Blame)) {
	for i := range m.solver.flows {
		if f := &m.solver.flows[i]; f.root != NoResource && f.demand > f.rate {
			yield(m.blameOf(f))
		}
	}
}

func (m *Model) blameOf(f *flow) Blame {
	return Blame{Owner: m.solver.groups[f.group].Owner, Root: f.root, HeldBackPerSecond: f.demand - f.rate}
}

// Use is one owner's share of the load of a resource.
type Use struct {
	Owner              int
	OfferedPerSecond   float64 // bytes/s
	DetouredByAFailure bool
}

// EachUse calls yield for every flow of the last Solve that crosses a resource.
func (m *Model) EachUse(r Resource, yield func(Use)) {
	s := &m.solver
	if len(s.flows) == 0 {
		return
	}
	for _, e := range s.byRes[s.byOff[r]:s.byOff[r+1]] {
		f := &s.flows[e.flow]
		g := s.groups[f.group]
		yield(Use{Owner: g.Owner, OfferedPerSecond: f.demand, DetouredByAFailure: g.detour[f.index]})
	}
}

// Sent returns what a group's flows offered and sent in the last Solve, in bytes/s.
func (m *Model) Sent(g *Flows) (offered, sent float64) {
	s := &m.solver
	if g.Scale <= 0 {
		return 0, 0
	}
	for i, d := range g.demand {
		offered += d * g.Scale
		if len(s.flows) == 0 {
			sent += m.demand(g, i)
		} else {
			sent += s.flows[g.solved+i].rate
		}
	}
	return offered, sent
}

// Shares returns, by resource, the share of its capacity that a group's flows ask for at Scale 1, of resources that they cross.
func (m *Model) Shares(g *Flows) map[Resource]float64 {
	shares := map[Resource]float64{}
	for i, d := range g.demand {
		for _, r := range g.Path(i) {
			shares[r] += d / m.capacity[r]
		}
	}
	return shares
}
