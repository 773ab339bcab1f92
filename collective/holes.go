package collective

import "fmt"

// Holes are only meaningful where every rank has a record of every step, as in rings,
// not in trees, where ranks skip steps. consecutive is the least share of a rank's
// transitions from record to record that must go to the next step. common is the share
// of the ranks that must have a record of a step for it to be missing elsewhere.
const consecutive, common = .75, .75

// manyHoles: with more than one hole per so many records, a rank's sequence is in
// doubt.
const manyHoles = 50

// hole is a record of a rank that follows missing records.
type hole struct {
	step  int32 // in the table
	first int32 // first missing step
}

// markHoles finds gaps in the records of a rank, and marks the steps after them as
// awaiting something unrecorded: since their earliest possible begin is unknown, the
// time before them is attributed to no rank, host or link.
func (t *table) markHoles() (holes []hole) {
	if t.lost == nil {
		return nil // every rank has the same steps
	}
	for from := 0; from < len(t.steps); {
		_, to := t.of(t.steps[from].Communicator)
		holes = t.holesAmong(holes, from, to)
		from = to
	}
	for _, h := range holes {
		t.lost[h.step] = true
	}
	return holes
}

// holesAmong appends the holes of one communicator, whose steps are [from, to).
func (t *table) holesAmong(holes []hole, from, to int) []hole {
	type iterationStep struct{ iteration, step int32 }
	ranks, latest, known := map[iterationStep]map[int32]bool{}, map[chain]int32{}, map[int32]bool{}
	first, transitions, next := len(holes), 0, 0
	for i := from; i < to; i++ {
		r := &t.steps[i]
		at := iterationStep{r.Iteration, r.Step}
		if ranks[at] == nil {
			ranks[at] = map[int32]bool{}
		}
		ranks[at][r.Rank], known[r.Rank] = true, true
		before := int32(0)
		if last, ok := latest[chainOf(r)]; ok && t.steps[last].Iteration == r.Iteration {
			before = t.steps[last].Step
		}
		latest[chainOf(r)] = int32(i)
		if transitions++; r.Step <= before+1 {
			next++
			continue
		}
		holes = append(holes, hole{int32(i), before + 1})
	}
	if float64(next) < consecutive*float64(transitions) {
		return holes[:first]
	}
	kept := holes[:first]
	for _, h := range holes[first:] {
		r := &t.steps[h.step]
		if float64(len(ranks[iterationStep{r.Iteration, h.first}])) >= common*float64(len(known)) {
			kept = append(kept, h)
		}
	}
	return kept
}

// holesNote says how many records are missing in gaps, and names the first.
func (t *table) holesNote(holes []hole) string {
	n := 0
	for _, h := range holes {
		n += int(t.steps[h.step].Step - h.first)
	}
	h := holes[0]
	return fmt.Sprintf("step records missing between others: %d, the first of host %s, step %d; the time before the steps that follow them is not diagnosed",
		n, t.run.Ranks[t.steps[h.step].Rank].Node, h.first)
}
