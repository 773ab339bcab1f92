package collective

import (
	"slices"
	"sort"

	"github.com/giverny/giverny/collective/network"
)

// stuck is a transfer that had all its inputs and did not end.
type stuck struct {
	rank, peer int   // peer None where unknown
	step       int   // the step that did not end
	since      int64 // when it could begin

	communicator int32
	steps        int  // of the whole collective; 0 where unknown
	recorded     bool // it left a record of its begin
	passedOn     bool // its receiver finished a step that needed its data
}

// standstill explains why a collective did not end, or which records of it are missing.
type standstill struct{ *evidence }

// find says in d where a collective stopped: the ranks at which the waiting begins,
// and a cycle of paused ports or a pausing host behind it, if any. Communicators that
// continue in later records have not stopped.
func (st *standstill) find(d *Diagnosis, later map[int32]bool) {
	all, open := st.begun()
	last := st.lastSign()
	for c := range max(len(st.t.run.Communicators), 1) {
		if open[int32(c)] || later[int32(c)] {
			continue // the records name what did not end, or it continues
		}
		s, steps := st.unfinished(int32(c))
		all = append(all, s...)
		d.Steps = max(d.Steps, steps)
	}
	all = slices.DeleteFunc(all, func(s stuck) bool { return st.t.run.Ranks[s.rank].Missing }) // how far it got is unknown
	all, lost := st.pending(all)
	defer func() {
		if len(lost) > 0 {
			d.Notes = append(d.Notes, st.missingRecords(lost))
		}
	}()
	if len(all) == 0 {
		st.nothingEnded(d, last)
		return
	}
	all, sure := st.standing(all, last)
	cost := max(last-earliest(all), 0)
	if found := st.stopper(all, last); found != nil {
		found.CostNanos = cost
		d.putFirst(*found)
		for _, s := range all {
			d.StoppedRanks = append(d.StoppedRanks, s.rank)
			d.Losses = append(d.Losses, Loss{Rank: s.rank, Peer: s.peer, BeginNanos: s.since - st.t.first, EndNanos: max(last, s.since) - st.t.first, Nanos: cost / int64(len(all))})
		}
	} else {
		d.StoppedRanks = origins(all)
		if !sure && (len(d.StoppedRanks) > 1 || st.t.incomplete()) {
			d.StoppedRanks, lost = []int{}, append(lost, all...)
		}
		for _, rank := range d.StoppedRanks {
			d.addHang("host "+st.t.run.Ranks[rank].Node, cost, sure)
		}
	}
	slices.Sort(d.StoppedRanks)
	d.StoppedRanks = slices.Compact(d.StoppedRanks)
}

// putFirst inserts a culprit before the others.
func (d *Diagnosis) putFirst(c Culprit) {
	d.Culprits = slices.Insert(d.Culprits, 0, c)
	for i := range d.Losses {
		d.Losses[i].Culprit++
	}
}

// addHang adds a host at which the waiting begins: first if it is sure that it stopped, otherwise last.
func (d *Diagnosis) addHang(host string, cost int64, sure bool) {
	c := Culprit{Class: Hang, Object: host, CostNanos: cost, Confidence: 0.8, Evidence: "the collective waits for it, and it waits for nothing"}
	if sure {
		d.putFirst(c)
		return
	}
	c.Confidence = notSure
	c.Evidence = "it has no record of its last steps, and the records end before these would: it stopped, or its records are missing"
	d.Culprits = append(d.Culprits, c)
}

func earliest(all []stuck) int64 {
	first := all[0].since
	for _, s := range all {
		first = min(first, s.since)
	}
	return first
}

// lastSign is the latest time in any record.
func (st *standstill) lastSign() int64 {
	last := st.t.last
	for _, p := range st.t.run.Telemetry {
		last = max(last, p.TimeNanos)
	}
	for _, p := range st.t.run.Pauses {
		last = max(last, p.TimeNanos)
	}
	for _, f := range st.t.run.Flows {
		last = max(last, f.EndNanos)
	}
	return last
}

// stopper finds what is behind the paused ports on the path of the transfers that did
// not end.
func (st *standstill) stopper(all []stuck, last int64) *Culprit {
	for _, s := range all {
		if s.peer == None {
			continue
		}
		way := st.way(s)
		for _, p := range way {
			if !st.pauses.stands(p, s.since-window, last) {
				continue
			}
			for _, o := range st.pauses.origins(p, s.since-window, last) {
				if o.cycle != nil || o.host != None {
					c := st.ofOrigin(nil, nil, o, 1, s.since, last)[0]
					return &Culprit{Class: c.class, Object: c.object, Confidence: c.confidence, Evidence: c.evidence}
				}
			}
		}
	}
	cycle := st.anyCycle(earliest(all)-window, last)
	if cycle == nil {
		cycle = st.standingCycle()
	}
	if cycle != nil {
		c := st.deadlock(cycle, 1)
		return &Culprit{Class: c.class, Object: c.object, Confidence: c.confidence, Evidence: c.evidence}
	}
	return nil
}

// way returns the ports that a transfer may pass.
func (st *standstill) way(s stuck) []network.Port {
	from, to := st.t.run.Ranks[s.rank].Host, st.t.run.Ranks[s.peer].Host
	if own := st.tr.own[[2]int{from, to}]; own != nil {
		return st.tr.route(own).Ports
	}
	return st.tr.net.Way(st.tr.net.Pair(from, to), nil).Ports
}

// anyCycle finds a cycle of paused ports anywhere in the fabric.
func (st *standstill) anyCycle(from, to int64) []network.Port {
	for node := range st.tr.net.Nodes {
		for _, h := range st.tr.net.Hops(node) {
			p := network.Port{Node: node, Port: h.Port}
			if !st.pauses.stands(p, from, to) {
				continue
			}
			for _, o := range st.pauses.origins(p, from, to) {
				if o.cycle != nil {
					return o.cycle
				}
			}
		}
	}
	return nil
}

// origins returns the ranks where a standstill begins: those that can neither receive
// nor send, and the senders of the remaining transfers.
func origins(all []stuck) []int {
	var out []int
	for _, s := range all {
		for _, o := range all {
			if o.peer == s.rank {
				out = append(out, s.rank)
			}
		}
	}
	both := slices.Clone(out)
	for _, s := range all {
		if !slices.Contains(both, s.rank) && !slices.Contains(both, s.peer) {
			out = append(out, s.rank)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// unfinished returns the transfers of a communicator's last collective that could run
// and did not end, and how many steps the collective should have.
func (st *standstill) unfinished(communicator int32) (out []stuck, steps int) {
	c := st.course(communicator)
	if c == nil {
		return st.behind(communicator)
	}
	if c.complete() {
		return nil, 0
	}
	for _, rank := range c.members {
		step := c.last[rank] + 1
		if step > c.steps {
			continue
		}
		from := c.sender(rank, step-1)
		if step > 1 && from != None && c.last[from] < step-1 {
			continue // it still awaits data
		}
		s := stuck{rank: rank, peer: c.receiver(rank, step), step: step, since: max(c.ended[rank], st.t.first), communicator: communicator, steps: c.steps}
		s.passedOn = s.peer != None && c.last[s.peer] > step && c.sender(s.peer, step) == rank
		if from != None {
			s.since = max(s.since, st.endOf(communicator, c.iteration, int32(from), int32(step-1)))
		}
		out = append(out, s)
	}
	return out, c.steps
}

// begun returns the transfers recorded as begun but not ended, and their communicators.
func (st *standstill) begun() (out []stuck, open map[int32]bool) {
	open = map[int32]bool{}
	if !st.t.begun {
		return nil, open
	}
	for i := range st.t.run.Steps {
		r := &st.t.run.Steps[i]
		if r.EndNanos == 0 && r.Rank >= 0 && int(r.Rank) < len(st.t.run.Ranks) && int(r.Peer) < len(st.t.run.Ranks) {
			s := stuck{rank: int(r.Rank), peer: max(int(r.Peer), None), step: int(r.Step), since: r.BeginNanos, communicator: r.Communicator, recorded: true}
			if st.t.offset != nil {
				s.since -= st.t.offset[r.Rank]
			}
			out = append(out, s)
			open[r.Communicator] = true
		}
	}
	return out, open
}

// nothingEnded reports a cycle of paused ports in a run without a finished transfer.
func (st *standstill) nothingEnded(d *Diagnosis, last int64) {
	if len(st.t.steps) > 0 {
		return // the steps show what happened
	}
	first := last
	for _, p := range st.t.run.Telemetry {
		first = min(first, p.EpochNanos)
	}
	for _, p := range st.t.run.Pauses {
		first = min(first, p.TimeNanos)
	}
	if cycle := st.anyCycle(first, last); cycle != nil {
		c := st.deadlock(cycle, 1)
		d.Culprits = append(d.Culprits, Culprit{Class: c.class, Object: c.object, CostNanos: last - first, Confidence: c.confidence, Evidence: c.evidence})
	}
}

func (st *standstill) endOf(communicator, iteration, rank, step int32) int64 {
	from := sort.Search(len(st.t.steps), func(i int) bool {
		return !placeOf(&st.t.steps[i]).before(place{communicator: communicator, iteration: iteration, step: step})
	})
	for i := from; i < len(st.t.steps); i++ {
		switch r := &st.t.steps[i]; {
		case r.Communicator != communicator || r.Iteration != iteration || r.Step != step:
			return 0
		case r.Rank == rank:
			return st.t.end[i]
		}
	}
	return 0
}
