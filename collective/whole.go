package collective

// joinWhole does the work of sane, keep, join and bounds in one pass for the common
// large run: one communicator and channel, no chunks, every rank in every step, in
// order, all finished, and all records name what they await. For other runs it returns
// false and does not set any result.
func (t *table) joinWhole(steps []StepRecord, room *scratch) bool {
	ranks, n := len(t.run.Ranks), len(steps)
	if n == 0 || ranks == 0 || n%ranks != 0 {
		return false
	}
	last := &steps[n-1]
	from := steps[0].Iteration
	longest, iterations := int(last.Step), int(last.Iteration-from)+1
	if from < 0 || longest < 1 || iterations < 1 || n/ranks%longest != 0 || n/ranks/longest != iterations {
		return false
	}
	t.begin, t.end = grow(&room.begin, n), grow(&room.end, n)
	t.own, t.awaited = grow(&room.own, n), grow(&room.awaited, n)
	w := wholeRun{t: t, steps: steps, ranks: ranks, first: steps[0].BeginNanos, last: steps[0].EndNanos, gaps: room.gaps[:0], alike: true}
	at := 0
	for iteration := from; iteration <= last.Iteration; iteration++ {
		for step := int32(1); step <= int32(longest); step++ {
			if !w.row(at, iteration, step) {
				return false
			}
			at += ranks
		}
	}
	t.steps, t.iterations, t.longest, t.channels, t.alike = steps, int(last.Iteration)+1, longest, 1, w.alike
	t.first, t.last, t.lastStep = w.first, w.last, w.lastStep
	for i := range t.recorded {
		t.recorded[i] = true
	}
	for i := range ranks {
		if t.own[i] < 0 && t.awaited[i] < 0 && t.begin[i]-t.start(i) > shortestGap {
			t.gaps = append(t.gaps, int32(i))
		}
	}
	t.gaps = append(t.gaps, w.gaps...)
	room.gaps = w.gaps
	t.bounded, t.ordered = true, !w.violated
	return true
}

// wholeRun is the state of joinWhole.
type wholeRun struct {
	t           *table
	steps       []StepRecord
	ranks       int
	first, last int64
	lastStep    int32
	gaps        []int32 // except those of steps that need nothing
	alike       bool
	violated    bool // a step began before the data that it awaited had ended
}

// row processes the records of one step, which begin at index from.
func (w *wholeRun) row(from int, iteration, step int32) bool {
	t, ranks := w.t, w.ranks
	steps, begin, end := w.steps[from:from+ranks], t.begin[from:from+ranks], t.end[from:from+ranks]
	own, awaited, model := t.own[from:from+ranks], t.awaited[from:from+ranks], &w.steps[0]
	for rank := range steps {
		r := &steps[rank]
		if int(r.Rank) != rank || r.Step != step || r.Iteration != iteration || r.Communicator|r.Chunk|r.Channel != 0 ||
			r.EndNanos == 0 || r.EndNanos < r.BeginNanos || int(r.Peer) >= ranks || r.AwaitsStep == 0 {
			return false
		}
		i := from + rank
		before, awaits := int32(max(i-ranks, -1)), int32(-1)
		if r.AwaitsStep > 0 {
			if r.AwaitsStep >= step || r.AwaitsRank < 0 || int(r.AwaitsRank) >= ranks {
				return false
			}
			awaits = int32(i - int(step-r.AwaitsStep)*ranks + int(r.AwaitsRank) - rank)
		}
		begin[rank], end[rank], own[rank], awaited[rank] = r.BeginNanos, r.EndNanos, before, awaits
		if r.BeginNanos < w.first {
			w.first = r.BeginNanos
		}
		if r.EndNanos > w.last {
			w.last, w.lastStep = r.EndNanos, int32(i)
		}
		w.alike = w.alike && r.Bytes == model.Bytes && r.AloneNanos == model.AloneNanos && r.Peer >= 0 && t.node[r.Peer] != t.node[rank]
		if ready, any := w.ready(before, awaits, r); any && r.BeginNanos-ready > shortestGap {
			w.gaps = append(w.gaps, int32(i))
		}
	}
	return true
}

// ready is like the table's, for a step that needs something.
func (w *wholeRun) ready(own, awaited int32, r *StepRecord) (at int64, needs bool) {
	if awaited < 0 {
		if own < 0 {
			return 0, false
		}
		return w.t.end[own], true
	}
	data := w.t.end[awaited]
	if data > r.BeginNanos {
		w.violated = true
	}
	if own < 0 {
		return data, true
	}
	if at = w.t.end[own]; data >= at && (data == at || data <= r.EndNanos) {
		return data, true
	}
	return at, true
}
