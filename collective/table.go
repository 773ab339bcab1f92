package collective

import "sort"

// table is the waiting graph of a run (poster, section 2): a vertex per step record
// and at most two edges backwards, to the rank's own previous step and to the
// transfer whose data the step awaits. Vertices are in a topological order.
type table struct {
	run   *Run
	steps []StepRecord // kept records, ordered

	begin, end   []int64 // on the common clock
	own, awaited []int32 // predecessors; -1 none
	lost         []bool  // the awaited transfer is not in the records
	hint         []bool  // the record itself names what it waited for
	iterations   int
	longest      int // steps of the longest collective
	doubled      int // records that were there already
	cut          int // records over the limit
	first, last  int64
}

// slots finds records by their place. Dense where the places are nearly all taken.
type slots struct {
	iterations, steps, chunks, channels, ranks, communicators int
	dense                                                     []int32
	sparse                                                    map[place]int32
}

type place struct{ communicator, iteration, step, chunk, channel, rank int32 }

func newSlots(steps []StepRecord, ranks int) *slots {
	s := &slots{ranks: ranks}
	for i := range steps {
		r := &steps[i]
		s.iterations = max(s.iterations, int(r.Iteration)+1)
		s.steps = max(s.steps, int(r.Step))
		s.chunks = max(s.chunks, int(r.Chunk)+1)
		s.channels = max(s.channels, int(r.Channel)+1)
		s.communicators = max(s.communicators, int(r.Communicator)+1)
	}
	size, room := 1, 4*len(steps)+4096
	for _, n := range []int{s.iterations, s.steps, s.chunks, s.channels, s.ranks, s.communicators} {
		if n = max(n, 1); size > room/n {
			s.sparse = make(map[place]int32, len(steps))
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
	if p.step < 1 || int(p.step) > s.steps || p.rank < 0 || int(p.rank) >= s.ranks || p.chunk < 0 || p.iteration < 0 {
		return -1
	}
	n := int(p.communicator)*s.iterations + int(p.iteration)
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

// newTable orders the records, drops doubles and what cannot be, and joins them.
func newTable(run *Run, limit int) *table {
	t := &table{run: run}
	if limit <= 0 {
		limit = DefaultLimit
	}
	sane := t.sane(run.Steps, limit)
	index := newSlots(sane, len(run.Ranks))
	t.keep(sane, index)
	t.begin, t.end = make([]int64, len(t.steps)), make([]int64, len(t.steps))
	for i := range t.steps {
		t.begin[i], t.end[i] = t.steps[i].BeginNanos, t.steps[i].EndNanos
		t.longest = max(t.longest, int(t.steps[i].Step))
	}
	t.iterations = index.iterations
	t.join(index)
	return t
}

// sane are the finished records that can be. The slice of the run itself is
// returned where all are.
func (t *table) sane(steps []StepRecord, limit int) []StepRecord {
	if len(steps) > limit {
		t.cut = len(steps) - limit
		steps = steps[:limit]
	}
	ok := func(r *StepRecord) bool {
		return r.EndNanos != 0 && r.EndNanos >= r.BeginNanos && r.Step >= 1 && r.Iteration >= 0 && r.Chunk >= 0 &&
			r.Channel >= 0 && r.Communicator >= 0 && r.Rank >= 0 && int(r.Rank) < len(t.run.Ranks) && int(r.Peer) < len(t.run.Ranks)
	}
	for i := range steps {
		if ok(&steps[i]) {
			continue
		}
		kept := append([]StepRecord(nil), steps[:i]...)
		for ; i < len(steps); i++ {
			if ok(&steps[i]) {
				kept = append(kept, steps[i])
			}
		}
		return kept
	}
	return steps
}

// keep orders the records by communicator, iteration, step, chunk, channel and rank.
// Of two of one place the first stays.
func (t *table) keep(steps []StepRecord, index *slots) {
	if index.dense != nil && inOrder(steps, index) {
		t.steps = steps
		return
	}
	for i := range steps {
		if p := placeOf(&steps[i]); index.at(p) < 0 {
			index.set(p, int32(i))
		} else {
			t.doubled++
		}
	}
	t.steps = make([]StepRecord, 0, len(steps)-t.doubled)
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

// inOrder says whether the records come in the table's order without doubles, and
// enters them if so.
func inOrder(steps []StepRecord, index *slots) bool {
	last := -1
	for i := range steps {
		n := index.number(placeOf(&steps[i]))
		if n <= last {
			for j := range steps[:i] {
				index.set(placeOf(&steps[j]), -1)
			}
			return false
		}
		index.dense[n] = int32(i)
		last = n
	}
	return true
}

func (p place) before(q place) bool {
	for _, d := range [...]int32{p.communicator - q.communicator, p.iteration - q.iteration, p.step - q.step, p.chunk - q.chunk, p.channel - q.channel} {
		if d != 0 {
			return d < 0
		}
	}
	return p.rank < q.rank
}

// join finds the two predecessors of every step.
func (t *table) join(index *slots) {
	n := len(t.steps)
	t.own, t.awaited, t.lost, t.hint = make([]int32, n), make([]int32, n), make([]bool, n), make([]bool, n)
	incoming := t.incoming(index)
	latest := make([]int32, len(t.run.Ranks)*max(index.channels, 1)*max(index.communicators, 1))
	for i := range latest {
		latest[i] = -1
	}
	for i := range t.steps {
		r := &t.steps[i]
		chain := (int(r.Communicator)*index.channels+int(r.Channel))*index.ranks + int(r.Rank)
		t.own[i] = latest[chain]
		latest[chain] = int32(i)
		if index.chunks > 1 {
			t.own[i] = t.pipelined(index, r, t.own[i])
		}
		t.awaited[i], t.lost[i] = t.awaits(index, incoming, i)
		t.hint[i] = r.AwaitsStep > 0
	}
}

// pipelined is the own predecessor of a chunk: of the same chunk a step earlier, and
// of the chunk before in this step, the one that ended last before this began.
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

// incoming finds transfers by their receiver, for records that do not name what they
// await; nil where all do.
func (t *table) incoming(index *slots) *slots {
	need := false
	for i := range t.steps {
		need = need || t.steps[i].AwaitsStep == 0
	}
	if !need {
		return nil
	}
	in := *index
	if index.dense != nil {
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

// awaits finds the transfer whose data step i needs; lost if it should be there and
// was not recorded.
func (t *table) awaits(index, incoming *slots, i int) (at int32, lost bool) {
	r := &t.steps[i]
	if r.AwaitsStep == None || r.Step == 1 && r.AwaitsStep == 0 {
		return -1, false
	}
	if r.AwaitsStep > 0 {
		at = index.at(place{r.Communicator, r.Iteration, r.AwaitsStep, r.Chunk, r.Channel, r.AwaitsRank})
		if at >= int32(i) {
			return -1, false // a cycle: hostile, or numbers that mean something else
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
			break // a table with holes: the search is bounded
		}
	}
	return -1, true
}
