package flightrecorder

import (
	"maps"
	"slices"
)

// lateNanos is the median lateness from which a rank is called late; below it, the time
// of enqueueing varies by itself.
const lateNanos = 10_000_000

// fewest collectives needed to judge a rank's lateness or clock.
const fewest = 3

// offsets returns, by rank, how much later than the median of the ranks an event was in each
// collective that several ranks recorded; instant returns its time, or 0 if unknown.
func (a *analysis) offsets(instant func(*Entry) int64) map[int][]int64 {
	type key struct {
		group string
		seq   int64
	}
	instants := map[key]map[int]int64{}
	for _, r := range a.ranks {
		for i := range a.dumps[r].Entries {
			e := &a.dumps[r].Entries[i]
			at := instant(e)
			if e.P2P || e.Seq < 0 || at == 0 {
				continue
			}
			k := key{e.Group, e.Seq}
			if instants[k] == nil {
				instants[k] = map[int]int64{}
			}
			instants[k][r] = at
		}
	}
	out := map[int][]int64{}
	for _, at := range instants {
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

// late fills Skews and Late. Ranks complete a collective together, so consistent
// offsets of recorded completions are clock offsets. Otherwise a rank's smallest offset
// is taken as its clock offset: after a collective all ranks continue at once, so the
// least lateness is due to clocks. A rank that is always late by the same time then
// looks like a wrong clock.
func (a *analysis) late() {
	offsets := a.offsets(func(e *Entry) int64 { return e.CreatedNanos })
	completions := a.offsets(func(e *Entry) int64 { return e.CompletedNanos })
	if len(a.out.Stopped) > 0 {
		return // before a hang the last collectives are irregular
	}
	for _, r := range a.ranks {
		if len(offsets[r]) < fewest {
			continue
		}
		lateness := median(offsets[r])
		clock := offsets[r][0]
		if steady(completions[r]) {
			clock = median(completions[r])
		}
		if clock > lateNanos || clock < -lateNanos {
			a.out.Skews = append(a.out.Skews, Skew{r, clock})
			lateness -= clock
		}
		if lateness > lateNanos {
			a.out.Late = append(a.out.Late, r)
		}
	}
	if len(a.out.Skews) > 0 {
		a.note("clocks differ by more than %d ms: corrected from matching collectives", lateNanos/1_000_000)
	}
}

// steady reports whether offsets are known for enough collectives, and half of them are
// near their median. A watchdog with a long interval records completions too coarsely.
func steady(offsets []int64) bool {
	if len(offsets) < fewest {
		return false
	}
	middle := median(offsets)
	n := 0
	for _, o := range offsets {
		if max(o-middle, middle-o) <= lateNanos/2 {
			n++
		}
	}
	return 2*n > len(offsets)
}
