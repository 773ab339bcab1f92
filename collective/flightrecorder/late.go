package flightrecorder

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// lateNanos is how late a rank must come, by the median of its collectives, to be
// called late: below it enqueueing itself varies.
const lateNanos = 10_000_000

// offsets are how much later than its group's median a rank enqueued each collective
// that the dumps of several ranks show.
func (a *analysis) offsets() map[int][]int64 {
	type key struct {
		group string
		seq   int64
	}
	created := map[key]map[int]int64{}
	for _, r := range a.ranks {
		for _, e := range a.dumps[r].Entries {
			if e.P2P || e.Seq < 0 || e.CreatedNanos == 0 {
				continue
			}
			k := key{e.Group, e.Seq}
			if created[k] == nil {
				created[k] = map[int]int64{}
			}
			created[k][r] = e.CreatedNanos
		}
	}
	out := map[int][]int64{}
	for _, at := range created {
		if len(at) < 2 {
			continue
		}
		middle := median(slices.Collect(maps.Values(at)))
		for r, t := range at {
			out[r] = append(out[r], t-middle)
		}
	}
	return out
}

func median(v []int64) int64 {
	slices.Sort(v)
	return v[(len(v)-1)/2]
}

// late fills Skews and Late. The smallest offset of a rank is taken for its clock:
// after a collective all ranks go on at once, so the least late time is due to clocks.
// A rank that is always late by the same time looks like a clock that is wrong.
func (a *analysis) late() {
	offsets := a.offsets()
	if len(a.out.Stopped) > 0 {
		return // before a hang the last collectives come as they may
	}
	for _, r := range a.ranks {
		if len(offsets[r]) < 3 {
			continue
		}
		lateness := median(offsets[r])
		clock := offsets[r][0]
		if clock > lateNanos || clock < -lateNanos {
			a.out.Skews = append(a.out.Skews, Skew{r, clock})
			lateness -= clock
		}
		if lateness > lateNanos {
			a.out.Late = append(a.out.Late, r)
		}
	}
	if len(a.out.Skews) > 0 {
		a.note("clocks differ by more than %d ms: corrected by the collectives' least offsets", lateNanos/1_000_000)
	}
}

// Text says the report in sentences.
func (r *Report) Text() string {
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	for _, d := range r.Disagreements {
		verb := "disagree"
		if len(d.Ranks) == 1 {
			verb = "disagrees"
		}
		say("%s %s on collective %d of group %s: %s instead of %s", rankList(d.Ranks), verb, d.Seq, d.Group, d.Enqueued, d.Op)
	}
	switch {
	case len(r.Stopped) > 0:
		say("%s stopped; %d others wait, directly or in turn", rankList(r.Stopped), len(r.Waits)-r.waiting(r.Stopped))
	case len(r.Cycle) > 0 && len(r.Stopped) == 0: // said below
	case r.Hung && len(r.Disagreements) == 0:
		say("%d ranks wait and no rank is behind: the operations themselves do not complete (network or device)", len(r.Waits))
		if len(r.Waits) > 0 {
			w := r.Waits[0]
			say("rank %d is in %s %d of group %s", w.Rank, w.Op, w.Seq, w.Group)
		}
	case len(r.Late) > 0:
		say("%s late, and no hang", rankList(r.Late))
	case !r.Hung:
		say("no rank waits: no hang")
	}
	if len(r.Cycle) > 0 {
		said = append(said, r.CycleText())
	}
	return strings.Join(append(said, r.Notes...), "; ")
}

// waiting counts those of the ranks that have a wait themselves.
func (r *Report) waiting(ranks []int) (n int) {
	for _, w := range r.Waits {
		if slices.Contains(ranks, w.Rank) {
			n++
		}
	}
	return n
}
