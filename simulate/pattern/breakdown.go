package pattern

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/simulate/packet"
	"github.com/giverny/giverny/topology"
)

// profile is what the time of a transfer alone depends on.
type profile struct {
	verb  packet.Verb
	bytes int64
	intra bool
	way   uint64
}

// breakDown compares every transfer with the same one alone on the fabric.
func (r *run) breakDown(g *topology.Graph) error {
	solo, err := packet.New(g, r.model.Packet)
	if err != nil {
		return err
	}
	known := map[profile]packet.Times{}
	for i := range r.records {
		rec := &r.records[i]
		if rec.transfer < 0 || rec.Complete == packet.Never {
			continue
		}
		p := &r.posted[rec.transfer]
		from, to := r.nodes[r.members[p.owner].Node], r.nodes[r.members[p.target].Node]
		verb := packet.Put
		if rec.Op == Get {
			verb = packet.Get
		}
		key := profile{verb, rec.Bytes, from == to, solo.Profile(from, to)}
		alone, ok := known[key]
		if !ok {
			if alone, err = single(solo, packet.Request{Verb: verb, From: from, To: to, Bytes: rec.Bytes}); err != nil {
				return err
			}
			known[key] = alone
		}
		rec.Alone = alone.Completed
		rec.DMAWait = rec.dmaStart - rec.Start - alone.DMAStart
		rec.Contention = rec.Arrive - rec.dmaStart - (alone.Arrived - alone.DMAStart)
		rec.ControlWait = rec.Complete - rec.Arrive - (alone.Completed - alone.Arrived)
	}
	return nil
}

// single is a transfer on an idle simulation, as times since its post.
func single(s *packet.Sim, q packet.Request) (packet.Times, error) {
	id, err := s.Post(q)
	if err != nil {
		return packet.Times{}, err
	}
	for ok := true; ok; _, ok = s.Next(packet.Never) {
	}
	t := s.Times(id)
	return packet.Times{DMAStart: t.DMAStart - t.Posted, Arrived: t.Arrived - t.Posted, Completed: t.Completed - t.Posted}, nil
}

// CallRef names a call: the process and the number of the call among its own,
// from 0.
type CallRef struct{ Process, Call int }

// Collision says that a put or get waited for another.
type Collision struct {
	Waiting, Holder CallRef
	Place           string      // "dma" of the sender, "link" or "receive"
	Waited          packet.Time // summed over packets; those of several links may wait at once
}

// maxPairs bounds the memory of the collisions on links.
const maxPairs = 1 << 20

// watch adds up who waits for whom.
type watch struct {
	pairs map[pair]packet.Time
}

type pair struct {
	waiting, holder packet.TransferID
	place           packet.Place
}

func newWatch(r *run) *watch {
	w := &watch{map[pair]packet.Time{}}
	r.sim.Observe(func(waiting, holder packet.TransferID, d packet.Time, place packet.Place) {
		k := pair{waiting, holder, place}
		if _, known := w.pairs[k]; known || len(w.pairs) < maxPairs {
			w.pairs[k] += d
		}
	})
	return w
}

func (w *watch) collisions(r *run) []Collision {
	var list []Collision
	add := func(waiting, holder packet.TransferID, place string, d packet.Time) {
		a, b := r.posted[waiting].record, r.posted[holder].record
		if a != none && b != none && d > 0 {
			list = append(list, Collision{r.ref(a), r.ref(b), place, d})
		}
	}
	for k, d := range w.pairs {
		add(k.waiting, k.holder, k.place.String(), d)
	}
	r.engineQueues(add)
	slices.SortFunc(list, func(a, b Collision) int {
		return cmp.Or(cmp.Compare(b.Waited, a.Waited), cmp.Compare(a.Waiting.Process, b.Waiting.Process), cmp.Compare(a.Waiting.Call, b.Waiting.Call),
			cmp.Compare(a.Holder.Process, b.Holder.Process), cmp.Compare(a.Holder.Call, b.Holder.Call), cmp.Compare(a.Place, b.Place))
	})
	return list
}

func (r *run) ref(record int32) CallRef {
	rec := &r.records[record]
	return CallRef{rec.Process, rec.Number}
}

// engineQueues finds, for each put that waited for its NIC's DMA engine, the
// ones that had it in that time.
func (r *run) engineQueues(add func(waiting, holder packet.TransferID, place string, d packet.Time)) {
	const furthest = 64 // back in a queue
	byNode := map[int][]packet.TransferID{}
	for i := range r.posted {
		p := &r.posted[i]
		source := r.members[p.owner]
		if p.record != none && r.records[p.record].Op == Get {
			source = r.members[p.target]
		}
		if r.sim.Times(packet.TransferID(i)).DMAStart != packet.Never {
			byNode[source.Node] = append(byNode[source.Node], packet.TransferID(i))
		}
	}
	for _, queue := range byNode {
		slices.SortStableFunc(queue, func(a, b packet.TransferID) int {
			return cmp.Compare(r.sim.Times(a).DMAStart, r.sim.Times(b).DMAStart)
		})
		for i, id := range queue {
			rec := r.posted[id].record
			if rec == none || r.records[rec].DMAWait <= 0 {
				continue
			}
			until := r.sim.Times(id).DMAStart
			since := until - r.records[rec].DMAWait
			for k := i - 1; k >= max(0, i-furthest) && until > since; k-- {
				begin := max(since, r.sim.Times(queue[k]).DMAStart)
				add(id, queue[k], "dma", until-begin)
				until = begin
			}
		}
	}
}
