package pattern

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/simulate/packet"
	"github.com/giverny/giverny/topology"
)

// profile is what the time of a transfer alone depends on.
type profile struct {
	request packet.Request // without the nodes
	intra   bool
	way     uint64
}

// breakDown compares every transfer with the same one on the same paths of an otherwise
// idle fabric at full rate: the cost of rate control counts as contention.
func (r *run) breakDown(g *topology.Graph) error {
	idle := r.model.Packet
	idle.Rate.Enabled = false
	solo, err := packet.New(g, idle)
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
		request := packet.Request{Verb: verb, Bytes: rec.Bytes, Class: rec.Class}
		paths := r.sim.Paths(rec.transfer)
		key := profile{request, from == to, solo.Profile(paths)}
		alone, ok := known[key]
		if !ok {
			request.From, request.To = from, to
			if alone, err = single(solo, request, paths); err != nil {
				return err
			}
			known[key] = alone
		}
		rec.DMAWait = settle(rec.dmaStart - rec.Start - alone.DMAStart)
		rec.Contention = settle(rec.Arrive - rec.dmaStart - (alone.Arrived - alone.DMAStart))
		rec.ControlWait = settle(rec.Complete - rec.Arrive - (alone.Completed - alone.Arrived))
		rec.Alone = rec.Complete - rec.Start - rec.DMAWait - rec.Contention - rec.ControlWait
	}
	return nil
}

// settle rounds waits below rounding, due to the rounding of packet times, to zero.
func settle(wait packet.Time) packet.Time {
	if wait > -rounding && wait < rounding {
		return 0
	}
	return wait
}

const rounding = packet.Nanosecond / 1000 // times are in femtoseconds

// single runs a transfer on an idle simulation and returns its times since posting.
func single(s *packet.Sim, q packet.Request, along packet.Paths) (packet.Times, error) {
	id, err := s.PostAlong(q, along)
	if err != nil {
		return packet.Times{}, err
	}
	for ok := true; ok; _, ok = s.Next(packet.Never) {
	}
	t := s.Times(id)
	return packet.Times{DMAStart: t.DMAStart - t.Posted, Arrived: t.Arrived - t.Posted, Completed: t.Completed - t.Posted}, nil
}

// CallRef identifies a call: the process, and the number among its calls, from 0.
type CallRef struct{ Process, Call int }

// Collision is a put or get that waited for another.
type Collision struct {
	Waiting, Holder CallRef
	Place           string      // "dma" of the sender, "link" or "receive"
	Waited          packet.Time // summed over packets; waits on several links may overlap
}

// maxPairs bounds the memory for collisions on links.
const maxPairs = 1 << 20

// watch sums up who waits for whom. Waits arrive packet by packet and mostly repeat
// recent pairs, which a small cache in front of the map catches.
type watch struct {
	pairs  map[pair]packet.Time
	recent [1 << 12]struct {
		pair
		sum packet.Time
	}
}

type pair struct {
	waiting, holder packet.TransferID
	place           packet.Place
}

func newWatch(r *run) *watch {
	w := &watch{pairs: map[pair]packet.Time{}}
	r.sim.Observe(w.add)
	return w
}

func (w *watch) add(waiting, holder packet.TransferID, d packet.Time, place packet.Place) {
	p := pair{waiting, holder, place}
	hash := (uint64(uint32(waiting))<<32 | uint64(uint32(holder))) * 0x9e3779b97f4a7c15
	slot := &w.recent[(hash>>50+uint64(place))%uint64(len(w.recent))]
	if slot.pair != p {
		w.flush(slot.pair, slot.sum)
		slot.pair, slot.sum = p, 0
	}
	slot.sum += d
}

func (w *watch) flush(p pair, d packet.Time) {
	if _, known := w.pairs[p]; d > 0 && (known || len(w.pairs) < maxPairs) {
		w.pairs[p] += d
	}
}

func (w *watch) collisions(r *run) []Collision {
	for i := range w.recent {
		w.flush(w.recent[i].pair, w.recent[i].sum)
	}
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

// engineQueues finds, for each put that waited for its NIC's DMA engine, the puts that
// used it in that time.
func (r *run) engineQueues(add func(waiting, holder packet.TransferID, place string, d packet.Time)) {
	const furthest = 16 // how far to look back in a queue
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
