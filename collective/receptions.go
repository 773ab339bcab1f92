package collective

import "maps"

// A rank's collective ends when it has sent and received all its data. So its steps of
// the next iteration also come after the receptions of the one before, which its
// records do not name. The last reception is an edge of the waiting graph; only the
// time after both predecessors is the rank's own.

// received is, by rank, the last transfer into it in an iteration; -1: none.
type received []int32

// note records a transfer.
func (g received) note(t *table, i int32) {
	if to := t.steps[i].Peer; to >= 0 && (g[to] < 0 || t.end[i] > t.end[g[to]]) {
		g[to] = i
	}
}

func (g received) forget() {
	for i := range g {
		g[i] = None
	}
}

// afterReceptions adds these edges for the communicators whose records are consistent
// with them: a rank that began an iteration before it had received all of the one
// before does not wait for it.
func (t *table) afterReceptions() {
	if n := len(t.steps); n == 0 || t.before == nil && t.steps[0].Communicator == t.steps[n-1].Communicator && t.steps[0].Iteration == t.steps[n-1].Iteration {
		return
	}
	now, earlier := make(received, len(t.run.Ranks)), make(received, len(t.run.Ranks))
	for from := 0; from < len(t.steps); {
		from = t.receptionsOf(from, now, earlier)
	}
}

// edge says that a step comes after an earlier one.
type edge struct{ step, after int32 }

// receptionsOf adds the edges of the communicator whose steps begin at index from, and
// returns where they end.
func (t *table) receptionsOf(from int, now, earlier received) (to int) {
	if _, to = t.of(t.steps[from].Communicator); t.steps[from].Iteration == t.steps[to-1].Iteration {
		t.afterPart(from, to)
		return to
	}
	var edges []edge
	waits := true
	now.forget()
	earlier.forget()
	for i := from; i < to; i++ {
		r := &t.steps[i]
		if i > from && r.Iteration != t.steps[i-1].Iteration {
			now, earlier = earlier, now
			now.forget()
		}
		now.note(t, int32(i))
		own, last := t.own[i], earlier[r.Rank]
		if own >= 0 && last >= 0 && t.steps[own].Iteration < r.Iteration {
			edges = append(edges, edge{int32(i), last})
			waits = waits && t.end[last] <= t.begin[i]+shortestGap
		}
	}
	if !waits || !t.afterPart(from, to) {
		return to
	}
	for _, e := range edges {
		switch {
		case t.awaited[e.step] < 0:
			if t.awaited[e.step] = e.after; t.hint != nil {
				t.hint[e.step] = true
			}
		case t.end[e.after] > t.end[t.own[e.step]]:
			t.own[e.step] = e.after
		}
	}
	return to
}

// afterPart makes a communicator's first steps in a part of a long run wait for what
// their ranks received in the part before; false if the records contradict that.
func (t *table) afterPart(from, to int) bool {
	if t.before == nil {
		return true
	}
	own := func(r *StepRecord) int64 {
		if t.offset != nil {
			return r.EndNanos - t.offset[r.Rank]
		}
		return r.EndNanos
	}
	later := map[chain]StepRecord{}
	for i := from; i < to && t.steps[i].Iteration == t.steps[from].Iteration; i++ {
		if t.own[i] >= 0 {
			continue
		}
		c := chainOf(&t.steps[i])
		last, ok := t.arrivals[receiver{c.communicator, c.rank}]
		before, known := t.before[c]
		if !ok || !known || own(&last) <= own(&before) {
			continue
		}
		if own(&last) > t.begin[i]+shortestGap {
			return false
		}
		later[c] = last
	}
	maps.Copy(t.before, later)
	return true
}

// receiver is a rank in a communicator.
type receiver struct{ communicator, rank int32 }

// arrivals is, by receiver, the last transfer into it in the last iteration of some records.
type arrivals map[receiver]StepRecord

func arrivalsOf(steps []StepRecord) arrivals {
	index, byRank := map[receiver]int32{}, []int32{} // byRank: for the common case of communicator 0
	later := func(i, old int32) bool {
		r, o := &steps[i], &steps[old]
		return r.Iteration > o.Iteration || r.Iteration == o.Iteration && r.EndNanos > o.EndNanos
	}
	for i := range steps {
		r := &steps[i]
		switch {
		case r.Peer < 0 || r.EndNanos == 0 || r.EndNanos < r.BeginNanos:
		case r.Communicator == 0 && r.Peer < denseRanks:
			for int(r.Peer) >= len(byRank) {
				byRank = append(byRank, None)
			}
			if old := byRank[r.Peer]; old < 0 || later(int32(i), old) {
				byRank[r.Peer] = int32(i)
			}
		default:
			if old, ok := index[receiver{r.Communicator, r.Peer}]; !ok || later(int32(i), old) {
				index[receiver{r.Communicator, r.Peer}] = int32(i)
			}
		}
	}
	out := arrivals{}
	for at, i := range index {
		out[at] = steps[i]
	}
	for rank, i := range byRank {
		if i >= 0 {
			out[receiver{0, int32(rank)}] = steps[i]
		}
	}
	return out
}
