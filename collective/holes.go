package collective

import "fmt"

// Of the transitions from one record of a rank to its next, consecutive is the least
// share that goes to the next step where every rank has a record of every step, as in
// rings; in a tree ranks skip steps. common of the ranks have a record of a step that is
// missing at others.
const consecutive, common = .75, .75

// manyHoles: with more than one for that many records, what a rank had is in doubt.
const manyHoles = 50

// hole is a record of a rank before which records of it are missing.
type hole struct {
	step  int32 // in the table
	first int32 // step that is missing
}

// markHoles finds the records that are missing between others of the same rank, and has
// the steps after them need something that is not in the records: when they could have
// begun is not known, so that the time before is attributed to no rank, host or link.
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

// holesAmong appends those of one communicator, whose steps are from one place to before
// another.
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

// holesNote says how many records are missing between others, and names the first.
func (t *table) holesNote(holes []hole) string {
	n := 0
	for _, h := range holes {
		n += int(t.steps[h.step].Step - h.first)
	}
	h := holes[0]
	return fmt.Sprintf("step records missing between others: %d, the first of host %s, step %d; the time before the steps that follow them is not diagnosed",
		n, t.run.Ranks[t.steps[h.step].Rank].Node, h.first)
}
