package collective

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// maxSegments bounds the stored critical path of a long run: 100 collectives of 1,024
// ranks in a ring have 204,600 segments.
const maxSegments = 1 << 20

// chain is the sequence of one rank's steps in one channel of a communicator.
type chain struct{ communicator, channel, rank int32 }

func chainOf(r *StepRecord) chain { return chain{r.Communicator, r.Channel, r.Rank} }

// piece is the analysis of one part of a long run: its inputs from the neighbouring
// parts, and its results.
type piece struct {
	before map[chain]StepRecord // the last record of each chain in the part before; nil in the first
	arrivals
	clocks []int64        // by rank: clock offset found in the part after; nil: to be estimated
	until  *place         // last step of the critical path; nil: the last step to end
	later  map[int32]bool // communicators that continue in later parts

	d             Diagnosis
	from          *place // step of the part before that the critical path comes from; nil if unknown
	last          int64
	idle          []int64 // by rank: total delay of late steps, ns
	left          leftOut
	communicators map[int32]bool
}

// DiagnoseParts diagnoses a long job of n parts one by one, with at most two in memory.
// Each part holds whole collectives, those of a communicator in order and numbered
// through the job. Parts are requested once each, from last to first; a part's steps
// are not read any more once the one two before it is requested. The result is the same
// as for all records in one Run, except for culprits below the reporting threshold in
// every part.
func (z *Analyser) DiagnoseParts(n int, part func(i int) Run) Diagnosis {
	pieces := make([]*piece, n)
	later := map[int32]bool{}
	var until *place
	var clocks []int64
	run := part(n - 1)
	whole := run // except for its steps
	for i := n - 1; i >= 0; i-- {
		if z.opt.Stop != nil && z.opt.Stop() {
			return Diagnosis{}
		}
		p := &piece{clocks: clocks, until: until, later: later}
		pieces[i] = p
		var previous Run
		if i > 0 {
			previous = part(i - 1)
			p.before, p.arrivals = lastOf(previous.Steps), arrivalsOf(previous.Steps)
		}
		z.piece(run, p)
		clocks, until, later = p.clocks, p.from, union(later, p.communicators)
		run = previous
	}
	return joinPieces(pieces, &whole)
}

// union returns the union of two sets as a new set.
func union(a, b map[int32]bool) map[int32]bool {
	out := make(map[int32]bool, len(a)+len(b))
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// denseRanks bounds the ranks that are looked up by index; higher ones are in a map.
const denseRanks = 1 << 16

// lastOf returns the last finished record of each chain.
func lastOf(steps []StepRecord) map[chain]StepRecord {
	type end struct {
		number int64 // iteration and step
		at     int32
	}
	index, byRank := map[chain]end{}, []end{} // byRank: for the common case that all other numbers are 0
	for i := range steps {
		r := &steps[i]
		if r.EndNanos == 0 || r.EndNanos < r.BeginNanos || r.Rank < 0 {
			continue
		}
		number := int64(r.Iteration)<<32 + int64(r.Step)
		if r.Communicator|r.Channel|r.Chunk == 0 && r.Rank < denseRanks {
			for int(r.Rank) >= len(byRank) {
				byRank = append(byRank, end{number: -1})
			}
			if e := &byRank[r.Rank]; e.number < number {
				*e = end{number, int32(i)}
			}
			continue
		}
		if e, ok := index[chainOf(r)]; !ok || placeOf(&steps[e.at]).before(placeOf(r)) {
			index[chainOf(r)] = end{number, int32(i)}
		}
	}
	out := make(map[chain]StepRecord, len(index)+len(byRank))
	for c, e := range index {
		out[c] = steps[e.at]
	}
	for _, e := range byRank {
		if e.number < 0 {
			continue
		}
		r := &steps[e.at]
		if o, ok := out[chainOf(r)]; !ok || placeOf(&o).before(placeOf(r)) {
			out[chainOf(r)] = *r
		}
	}
	return out
}

// split divides a run with more than limit steps into parts of whole collectives,
// ordered by begin time. It returns the part of each collective, and the number of
// parts.
func split(steps []StepRecord, limit int) (partOf map[[2]int32]int32, parts int) {
	type unit struct {
		key     [2]int32 // communicator, iteration
		begin   int64
		records int
	}
	index := map[[2]int32]int{}
	var units []unit
	at := -1
	for i := range steps {
		r := &steps[i]
		key := [2]int32{r.Communicator, r.Iteration}
		if at < 0 || units[at].key != key {
			known := false
			if at, known = index[key]; !known {
				at = len(units)
				index[key] = at
				units = append(units, unit{key: key, begin: r.BeginNanos})
			}
		}
		units[at].records++
		units[at].begin = min(units[at].begin, r.BeginNanos)
	}
	// Collectives of one communicator stay in order, whatever its clocks say.
	slices.SortFunc(units, func(a, b unit) int { return cmp.Or(cmp.Compare(a.key[0], b.key[0]), cmp.Compare(a.key[1], b.key[1])) })
	for i := 1; i < len(units); i++ {
		if units[i].key[0] == units[i-1].key[0] {
			units[i].begin = max(units[i].begin, units[i-1].begin)
		}
	}
	slices.SortStableFunc(units, func(a, b unit) int { return cmp.Compare(a.begin, b.begin) })
	partOf = make(map[[2]int32]int32, len(units))
	room := limit
	for _, u := range units {
		if parts == 0 || u.records > room {
			parts++
			room = limit
		}
		room -= u.records
		partOf[u.key] = int32(parts - 1)
	}
	return partOf, parts
}

// long diagnoses a run with more records than the limit in parts; false if it is a
// single collective.
func (z *Analyser) long(run *Run) (Diagnosis, bool) {
	partOf, parts := split(run.Steps, z.limit())
	if parts < 2 {
		return Diagnosis{}, false
	}
	var rooms [2][]StepRecord
	return z.DiagnoseParts(parts, func(i int) Run {
		out := *run
		room := rooms[i%2][:0]
		key, of := [2]int32{None, None}, int32(None)
		for j := range run.Steps {
			r := &run.Steps[j]
			if k := [2]int32{r.Communicator, r.Iteration}; k != key {
				key, of = k, partOf[k]
			}
			if of == int32(i) {
				room = append(room, *r)
			}
		}
		rooms[i%2], out.Steps = room, room
		return out
	}), true
}

// joinPieces merges the diagnoses of the parts.
func joinPieces(pieces []*piece, run *Run) Diagnosis {
	first := pieces[0].d.FirstNanos
	out := Diagnosis{CriticalPath: []Segment{}, Culprits: []Culprit{}, StoppedRanks: []int{}, LateRanks: []int{}, MissingRanks: []int{},
		Ranks: len(run.Ranks), ClockOffsets: pieces[0].d.ClockOffsets, FirstNanos: first, Notes: slices.Clone(run.Notes)}
	idle, missing := make([]int64, len(run.Ranks)), make([]int, len(run.Ranks))
	last, saved, left := first, int64(0), leftOut{}
	for _, p := range pieces {
		last = max(last, p.last)
		saved += p.d.MakespanNanos - p.d.ExpectedNanos
		out.unexplained += p.d.unexplained
		left.add(p.left)
		out.Steps, out.Iterations = max(out.Steps, p.d.Steps), max(out.Iterations, p.d.Iterations)
		out.StoppedRanks = append(out.StoppedRanks, p.d.StoppedRanks...)
		for rank, nanos := range p.idle {
			idle[rank] += nanos
		}
		for _, rank := range p.d.MissingRanks {
			if missing[rank]++; missing[rank] == len(pieces) {
				out.MissingRanks = append(out.MissingRanks, rank)
			}
		}
	}
	slices.Sort(out.StoppedRanks)
	slices.Sort(out.MissingRanks)
	out.StoppedRanks = slices.Compact(out.StoppedRanks)
	out.MakespanNanos = last - first
	out.LateRanks = lateRanks(idle, out.MakespanNanos)
	dropped := out.joinPaths(pieces)
	saved -= out.joinCulprits(pieces)
	out.ExpectedNanos = out.MakespanNanos - max(saved, 0)
	out.Notes = append(out.Notes, left.notes()...)
	if dropped > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("the critical path has %d segments more than the %d that are kept", dropped, maxSegments))
	}
	out.Text = out.describe(run)
	return out
}

// joinPaths concatenates the critical paths of the parts, and returns how many segments
// were dropped for lack of room.
func (d *Diagnosis) joinPaths(pieces []*piece) (dropped int) {
	at := int64(0)
	add := func(s Segment) {
		at = s.EndNanos
		if len(d.CriticalPath) == maxSegments {
			dropped++
			return
		}
		d.CriticalPath = append(d.CriticalPath, s)
	}
	for _, p := range pieces {
		shift := p.d.FirstNanos - d.FirstNanos
		for _, s := range p.d.CriticalPath {
			s.BeginNanos, s.EndNanos = s.BeginNanos+shift, s.EndNanos+shift
			if s.BeginNanos > at {
				gap := s
				gap.Kind, gap.BeginNanos, gap.EndNanos = Compute, at, s.BeginNanos
				add(gap)
			}
			if s.EndNanos > at || s.BeginNanos == at {
				s.BeginNanos = at
				add(s)
			}
		}
	}
	return dropped
}

// joinCulprits adds up the costs of each culprit, and returns the total cost of those
// below the threshold in the whole run.
func (d *Diagnosis) joinCulprits(pieces []*piece) (small int64) {
	type key struct {
		class        Class
		flow, object string
	}
	number := map[key]int{}
	for _, p := range pieces {
		shift := p.d.FirstNanos - d.FirstNanos
		of := make([]int, len(p.d.Culprits))
		for i, c := range p.d.Culprits {
			k := key{c.Class, c.Flow, c.Object}
			n, known := number[k]
			if of[i] = n; known {
				o := &d.Culprits[n]
				if c.Confidence > o.Confidence {
					o.Confidence, o.Evidence = c.Confidence, c.Evidence
				}
				o.CostRangeNanos = joinRanges(o, &c)
				o.CostNanos, o.AloneNanos = o.CostNanos+c.CostNanos, o.AloneNanos+c.AloneNanos
				continue
			}
			of[i], number[k] = len(d.Culprits), len(d.Culprits)
			d.Culprits = append(d.Culprits, c)
		}
		for _, l := range p.d.Losses {
			l.Culprit, l.BeginNanos, l.EndNanos = of[l.Culprit], l.BeginNanos+shift, l.EndNanos+shift
			d.Losses = append(d.Losses, l)
		}
	}
	return d.order()
}

// joinRanges is the range of the sum of two costs; zero if neither has one.
func joinRanges(a, b *Culprit) (sum [2]int64) {
	if a.CostRangeNanos == sum && b.CostRangeNanos == sum {
		return sum
	}
	for _, c := range []*Culprit{a, b} {
		ends := c.CostRangeNanos
		if ends == [2]int64{} {
			ends = [2]int64{c.CostNanos, c.CostNanos}
		}
		sum[0], sum[1] = sum[0]+ends[0], sum[1]+ends[1]
	}
	return sum
}

// order sorts the culprits, those that stop the job first, and drops those below the
// reporting threshold, whose total cost it returns.
func (d *Diagnosis) order() (small int64) {
	stops := func(c *Culprit) bool {
		return c.Class == Hang || c.Class == Deadlock && len(d.StoppedRanks) > 0
	}
	all := make([]int, 0, len(d.Culprits))
	for i := range d.Culprits {
		c := &d.Culprits[i]
		if !stops(c) && float64(c.CostNanos) < c.least()*float64(d.MakespanNanos) {
			small += c.CostNanos
			continue
		}
		all = append(all, i)
	}
	slices.SortStableFunc(all, func(i, j int) int {
		a, b := &d.Culprits[i], &d.Culprits[j]
		switch first := stops(a); {
		case first == stops(b):
			return cmp.Compare(b.CostNanos, a.CostNanos)
		case first:
			return -1
		}
		return 1
	})
	culprits, at := make([]Culprit, len(all)), make(map[int]int, len(all))
	for n, i := range all {
		culprits[n], at[i] = d.Culprits[i], n
	}
	losses := d.Losses[:0]
	for _, l := range d.Losses {
		if n, kept := at[l.Culprit]; kept {
			l.Culprit = n
			losses = append(losses, l)
		}
	}
	d.Culprits, d.Losses = culprits, losses
	return small
}
