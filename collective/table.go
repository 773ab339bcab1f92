package collective

import (
	"math"
	"sort"
)

// table is the waiting graph of a run (poster, section 2): a vertex per step record
// and at most two edges backwards, to the rank's own previous step and to the
// transfer whose data the step awaits. Vertices are in a topological order.
type table struct {
	run   *Run
	steps []StepRecord // accepted records, ordered

	begin, end   []int64 // on the common time axis
	own, awaited []int32 // predecessors; -1: none
	lost         []bool  // the awaited transfer is not recorded; nil: all are
	hint         []bool  // the record itself names what it awaited; nil: all do
	iterations   int
	longest      int // steps of the longest collective
	channels     int
	left         leftOut
	begun        bool    // some records have no end
	derive       bool    // some records do not name what they await
	alike        bool    // all have the same size and time alone, and are between nodes
	recorded     []bool  // by rank: it has records
	node         []int32 // by rank: equal for ranks on one node
	holes        []hole  // gaps in the sequences of records
	gaps         []int32 // steps that began clearly later than possible, ascending
	bounded      bool    // gaps, first and last are valid for the current clocks
	offset       []int64 // by rank: subtracted clock offset; nil: none
	ordered      bool    // no step began before the data that it awaited had ended
	first, last  int64
	lastStep     int32                // the step that ended last; -1: none
	before       map[chain]StepRecord // in a part of a long run: the last records of the part before
	arrivals                          // of the part before
}

// slots finds records by place, with a dense table if nearly all places are taken.
type slots struct {
	iterations, steps, chunks, channels, ranks, communicators int
	from                                                      int // the first iteration
	dense                                                     []int32
	sparse                                                    map[place]int32
}

type place struct{ communicator, iteration, step, chunk, channel, rank int32 }

// newSlots allocates slots for records of the given extent.
func newSlots(extent slots, records int) *slots {
	s := &extent
	size, room := 1, 4*records+4096
	for _, n := range []int{s.iterations - s.from, s.steps, s.chunks, s.channels, s.ranks, s.communicators} {
		if n = max(n, 1); size > room/n {
			s.sparse = make(map[place]int32, records)
			return s
		}
		size *= n
	}
	s.dense = make([]int32, size)
	for i := range s.dense {
		s.dense[i] = -1
	}
	return s
}

func (s *slots) number(p place) int {
	if p.step < 1 || int(p.step) > s.steps || p.rank < 0 || int(p.rank) >= s.ranks || p.chunk < 0 || int(p.iteration) < s.from {
		return -1
	}
	n := int(p.communicator)*(s.iterations-s.from) + int(p.iteration) - s.from
	n = n*s.steps + int(p.step) - 1
	n = n*s.chunks + int(p.chunk)
	n = n*s.channels + int(p.channel)
	return n*s.ranks + int(p.rank)
}

func (s *slots) at(p place) int32 {
	if s.sparse != nil {
		if i, ok := s.sparse[p]; ok {
			return i
		}
		return -1
	}
	if n := s.number(p); n >= 0 {
		return s.dense[n]
	}
	return -1
}

func (s *slots) set(p place, i int32) {
	if s.sparse != nil {
		s.sparse[p] = i
	} else if n := s.number(p); n >= 0 {
		s.dense[n] = i
	}
}

func placeOf(r *StepRecord) place {
	return place{r.Communicator, r.Iteration, r.Step, r.Chunk, r.Channel, r.Rank}
}

// newTable orders the records, drops duplicates and invalid ones, and links them.
func newTable(run *Run, limit int, room *scratch, before map[chain]StepRecord) *table {
	t := &table{run: run, recorded: make([]bool, len(run.Ranks)), lastStep: -1, alike: true, before: before}
	t.nodes()
	steps := run.Steps
	if len(steps) > limit {
		t.left.cut = len(steps) - limit
		steps = steps[:limit]
	}
	if t.joinWhole(steps, room) {
		return t
	}
	steps, extent := t.sane(steps)
	t.iterations, t.longest, t.channels = extent.iterations, extent.steps, max(extent.channels, 1)
	n := len(steps)
	t.begin, t.end = grow(&room.begin, n), grow(&room.end, n)
	t.own, t.awaited = grow(&room.own, n), grow(&room.awaited, n)
	index := newSlots(extent, n)
	t.keep(steps, index)
	n = len(t.steps)
	t.begin, t.end, t.own, t.awaited = t.begin[:n], t.end[:n], t.own[:n], t.awaited[:n]
	for i := range t.steps {
		t.begin[i], t.end[i] = t.steps[i].BeginNanos, t.steps[i].EndNanos
	}
	t.join(index)
	return t
}

// nodes numbers the nodes of the ranks.
func (t *table) nodes() {
	number := map[string]int32{}
	for _, r := range t.run.Ranks {
		n, ok := number[r.Node]
		if !ok {
			n = int32(len(number))
			number[r.Node] = n
		}
		t.node = append(t.node, n)
	}
}

// sane returns the valid finished records, and the extent of their numbers. If all are
// valid it returns the given slice.
func (t *table) sane(steps []StepRecord) ([]StepRecord, slots) {
	extent := slots{ranks: len(t.run.Ranks), from: math.MaxInt32}
	for i := range steps {
		if !t.take(&steps[i], &steps[0], &extent) {
			kept := append([]StepRecord(nil), steps[:i]...)
			for j := i + 1; j < len(steps); j++ {
				if t.take(&steps[j], &steps[0], &extent) {
					kept = append(kept, steps[j])
				}
			}
			return kept, extent
		}
	}
	return steps, extent
}

// take reports whether a record is valid and finished, and widens the extent to include it.
func (t *table) take(r, first *StepRecord, extent *slots) bool {
	if r.Rank < 0 || int(r.Rank) >= len(t.recorded) || int(r.Peer) >= len(t.recorded) || r.Step < 1 || r.Iteration < 0 || r.Chunk < 0 || r.Channel < 0 || r.Communicator < 0 {
		t.left.impossible++
		return false
	}
	t.recorded[r.Rank] = true
	if r.EndNanos == 0 {
		t.begun = true
		return false
	}
	if r.EndNanos < r.BeginNanos {
		t.left.impossible++
		return false
	}
	t.derive = t.derive || r.AwaitsStep == 0
	t.alike = t.alike && r.Bytes == first.Bytes && r.AloneNanos == first.AloneNanos && r.Peer >= 0 && t.node[r.Peer] != t.node[r.Rank]
	extent.from = min(extent.from, int(r.Iteration))
	extent.iterations = max(extent.iterations, int(r.Iteration)+1)
	extent.steps = max(extent.steps, int(r.Step))
	extent.chunks = max(extent.chunks, int(r.Chunk)+1)
	extent.channels = max(extent.channels, int(r.Channel)+1)
	extent.communicators = max(extent.communicators, int(r.Communicator)+1)
	return true
}

// keep orders the records by communicator, iteration, step, chunk, channel and rank. Of
// two with the same place it keeps the first.
func (t *table) keep(steps []StepRecord, index *slots) {
	for i := range steps {
		if p := placeOf(&steps[i]); index.at(p) < 0 {
			index.set(p, int32(i))
		} else {
			t.left.doubled++
		}
	}
	t.steps = make([]StepRecord, 0, len(steps)-t.left.doubled)
	if index.dense != nil {
		for n, i := range index.dense {
			if i >= 0 {
				index.dense[n] = int32(len(t.steps))
				t.steps = append(t.steps, steps[i])
			}
		}
		return
	}
	for _, i := range index.sparse {
		t.steps = append(t.steps, steps[i])
	}
	sort.Slice(t.steps, func(a, b int) bool { return placeOf(&t.steps[a]).before(placeOf(&t.steps[b])) })
	for i := range t.steps {
		index.set(placeOf(&t.steps[i]), int32(i))
	}
}

func (p place) before(q place) bool {
	for _, d := range [...]int32{p.communicator - q.communicator, p.iteration - q.iteration, p.step - q.step, p.chunk - q.chunk, p.channel - q.channel} {
		if d != 0 {
			return d < 0
		}
	}
	return p.rank < q.rank
}

// join links every step to its two predecessors.
func (t *table) join(index *slots) {
	n := len(t.steps)
	t.lost, t.hint = make([]bool, n), make([]bool, n)
	incoming := t.incoming(index)
	latest := map[chain]int32{}
	for i := range t.steps {
		r := &t.steps[i]
		c := chainOf(r)
		t.own[i] = -1
		if before, known := latest[c]; known {
			t.own[i] = before
		}
		latest[c] = int32(i)
		if index.chunks > 1 {
			t.own[i] = t.pipelined(index, r, t.own[i])
		}
		t.awaited[i], t.lost[i] = t.awaits(index, incoming, i)
		t.hint[i] = r.AwaitsStep > 0
	}
	if index.chunks > 1 {
		t.oneAtATime()
	}
}

// oneAtATime sets the own predecessor of chunks that a rank sends one at a time to the
// one before in time, of any step. This holds for a chain if no two of its transfers
// overlap and the times agree with the numbers.
func (t *table) oneAtATime() {
	chains := map[chain][]int32{}
	for i := range t.steps {
		c := chainOf(&t.steps[i])
		chains[c] = append(chains[c], int32(i))
	}
	for _, list := range chains {
		serial := true
		for k := 1; k < len(list) && serial; k++ {
			serial = t.begin[list[k]] >= t.end[list[k-1]]
		}
		for k := 1; k < len(list) && serial; k++ {
			t.own[list[k]] = list[k-1]
		}
	}
}

// pipelined returns a chunk's own predecessor: the same chunk one step earlier or the
// chunk before in this step, whichever ended last before this one began.
func (t *table) pipelined(index *slots, r *StepRecord, otherwise int32) int32 {
	best := int32(-1)
	for _, p := range []place{
		{r.Communicator, r.Iteration, r.Step - 1, r.Chunk, r.Channel, r.Rank},
		{r.Communicator, r.Iteration, r.Step, r.Chunk - 1, r.Channel, r.Rank},
	} {
		if i := index.at(p); i >= 0 && t.end[i] <= r.BeginNanos && (best < 0 || t.end[i] > t.end[best]) {
			best = i
		}
	}
	if best < 0 && otherwise >= 0 && t.end[otherwise] <= r.BeginNanos {
		return otherwise
	}
	return best
}

// incoming indexes transfers by receiver, for records that do not name what they await;
// nil if all do.
func (t *table) incoming(index *slots) *slots {
	if !t.derive {
		return nil
	}
	in := *index
	if index.sparse == nil {
		in.dense = make([]int32, len(index.dense))
		for i := range in.dense {
			in.dense[i] = -1
		}
	} else {
		in.sparse = make(map[place]int32, len(index.sparse))
	}
	for i := range t.steps {
		p := placeOf(&t.steps[i])
		if p.rank = t.steps[i].Peer; p.rank < 0 {
			continue
		}
		if at := in.at(p); at < 0 || t.end[at] < t.end[i] {
			in.set(p, int32(i))
		}
	}
	return &in
}

// awaits finds the transfer whose data step i needs; lost if there should be one but it
// was not recorded.
func (t *table) awaits(index, incoming *slots, i int) (at int32, lost bool) {
	r := &t.steps[i]
	if r.AwaitsStep < 0 || r.Step == 1 && r.AwaitsStep == 0 {
		return -1, false
	}
	if r.AwaitsStep > 0 {
		at = index.at(place{r.Communicator, r.Iteration, r.AwaitsStep, r.Chunk, r.Channel, r.AwaitsRank})
		if at >= int32(i) {
			return -1, false // a cycle: malicious input, or other numbering
		}
		return at, at < 0
	}
	if int(r.Communicator) < len(t.run.Communicators) && t.run.Communicators[r.Communicator].Algorithm == Direct {
		return -1, false
	}
	from := int32(1)
	if own := t.own[i]; own >= 0 && t.steps[own].Iteration == r.Iteration {
		from = max(t.steps[own].Step, 1)
	}
	p := placeOf(r)
	for p.step = r.Step - 1; p.step >= from; p.step-- {
		if at = incoming.at(p); at >= 0 {
			return at, false
		}
		if r.Step-p.step > 64 {
			break // bounds the search in incomplete tables
		}
	}
	return -1, true
}

// of returns the range of a communicator's steps.
func (t *table) of(communicator int32) (from, to int) {
	from = sort.Search(len(t.steps), func(i int) bool { return t.steps[i].Communicator >= communicator })
	to = sort.Search(len(t.steps), func(i int) bool { return t.steps[i].Communicator > communicator })
	return from, to
}
