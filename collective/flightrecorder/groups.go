package flightrecorder

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// group returns a process group as known to a rank: from its own pg_config, from that
// of another rank that lists it as a member, or else from the entries of all ranks.
func (a *analysis) group(r int, name string) Group {
	if g, ok := a.dumps[r].Groups[name]; ok && len(g.Ranks) > 0 {
		return g
	}
	if g, ok := a.listed[name]; ok && slices.Contains(g.Ranks, r) {
		return g
	}
	return a.seen[name]
}

// outvote drops a group from dumps whose list of its ranks differs from the majority's:
// a single wrong dump could invent ranks for which every rank would seem to wait.
func (a *analysis) outvote() {
	type choice struct {
		ranks []int
		dumps []*Dump
	}
	choices := map[string]map[string]*choice{} // by group and formatted list
	for _, r := range a.ranks {
		for name, g := range a.dumps[r].Groups {
			if choices[name] == nil {
				choices[name] = map[string]*choice{}
			}
			list := fmt.Sprint(g.Ranks)
			if choices[name][list] == nil {
				choices[name][list] = &choice{ranks: g.Ranks}
			}
			choices[name][list].dumps = append(choices[name][list].dumps, a.dumps[r])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(choices)) {
		lists := slices.Collect(maps.Values(choices[name]))
		for _, own := range lists {
			for _, d := range own.dumps {
				if slices.ContainsFunc(lists, func(c *choice) bool { return len(c.dumps) > len(own.dumps) && slices.Contains(c.ranks, d.Rank) }) {
					a.drop(d, name)
				}
			}
		}
	}
}

// drop removes a group from a rank's dump.
func (a *analysis) drop(d *Dump, name string) {
	if _, ok := a.dumps[d.Rank].Groups[name]; !ok {
		return
	}
	changed := *a.dumps[d.Rank]
	changed.Groups = maps.Clone(changed.Groups)
	delete(changed.Groups, name)
	a.dumps[d.Rank] = &changed
	a.note("the dump of rank %d lists other ranks for group %s than most dumps do: the majority is used", d.Rank, name)
}

// leaveStrays drops dumps of ranks outside the job (according to the default group in
// more than half of the dumps): files of an earlier, larger job, or copies.
func (a *analysis) leaveStrays() {
	votes := map[string]int{} // by formatted list
	var job []int
	for _, r := range a.ranks {
		for name, g := range a.dumps[r].Groups {
			if g.Desc != defaultGroup && name != defaultGroup || len(g.Ranks) == 0 {
				continue
			}
			list := fmt.Sprint(g.Ranks)
			if votes[list]++; 2*votes[list] > len(a.ranks) {
				job = g.Ranks
			}
			break
		}
	}
	stray := func(rank int) bool {
		if job == nil || slices.Contains(job, rank) {
			return false
		}
		a.note("the dump of rank %d is ignored: the job has %d ranks and this is not one of them (pg_config)", rank, len(job))
		return true
	}
	if !slices.ContainsFunc(a.ranks, func(r int) bool { return slices.Contains(job, r) }) {
		return // the files are named differently
	}
	a.unread = slices.DeleteFunc(a.unread, func(d *Dump) bool { return stray(d.Rank) })
	a.ranks = slices.DeleteFunc(a.ranks, stray)
	maps.DeleteFunc(a.dumps, func(r int, _ *Dump) bool { return !slices.Contains(a.ranks, r) })
}

// findGroups collects the groups listed in any pg_config, and for every other group of
// an entry its known ranks: those with an entry in it, or all ranks with a dump for the
// default group, which is the whole job.
func (a *analysis) findGroups() {
	a.leaveStrays()
	a.outvote()
	for _, r := range a.ranks {
		for name, g := range a.dumps[r].Groups {
			if _, ok := a.listed[name]; !ok && len(g.Ranks) > 0 {
				a.listed[name] = g
			}
		}
	}
	whole := map[string]bool{}
	for _, r := range a.ranks {
		d := a.dumps[r]
		for i := range d.Entries {
			name := d.Entries[i].Group
			g := a.seen[name]
			if len(g.Ranks) == 0 || g.Ranks[len(g.Ranks)-1] != r {
				g.Ranks = append(g.Ranks, r)
			}
			g.Desc = d.descs[name]
			whole[name] = whole[name] || g.Desc == defaultGroup || name == defaultGroup
			a.seen[name] = g
		}
	}
	for _, name := range slices.Sorted(maps.Keys(whole)) {
		if g := a.seen[name]; whole[name] {
			g.Ranks = a.ranks
			a.seen[name] = g
		}
		if _, ok := a.listed[name]; !ok {
			a.note("no pg_config for group %s: its ranks are taken from its entries", name)
		}
	}
}

// defaultGroup is PyTorch's name for the group of all ranks.
const defaultGroup = "default_pg"

// inOrder reports whether the order of a group's ranks is known. It is not if the
// members were derived from entries, unless they are exactly ranks 0 to n-1.
func (a *analysis) inOrder(r int, name string) bool {
	if len(a.dumps[r].Groups[name].Ranks) > 0 || slices.Contains(a.listed[name].Ranks, r) {
		return true
	}
	g := a.seen[name]
	return len(g.Ranks) > 0 && len(g.Ranks) == len(a.ranks) && g.Ranks[len(g.Ranks)-1] == len(g.Ranks)-1
}

// status of a rank in a group, by the group's name; derived from its entries if the
// dump has no pg_status. If a complete dump shows nothing of a group, the rank has
// enqueued nothing there.
func (d *Dump) status(group string) (Status, bool) {
	for id, s := range d.Status {
		if d.groupOf[id] == group {
			return s, true
		}
	}
	s, known := Status{-1, -1, -1}, false
	for _, e := range d.Entries {
		if e.Group != group || e.P2P {
			continue
		}
		known = true
		s.Enqueued = max(s.Enqueued, e.Seq)
		if e.State == Completed {
			s.Completed = max(s.Completed, e.Seq)
		}
	}
	return s, known || d.shows(group)
}

// shows reports whether the dump would contain any collective that the rank enqueued in
// a group: pg_status gets a row with the first one, and entries keep it until the
// buffer overflows or, in dumps without completed ones, until it completes.
func (d *Dump) shows(group string) bool {
	if len(d.Status) > 0 || d.hasStatus {
		for id := range d.Status {
			if _, named := d.groupOf[id]; !named {
				return false
			}
		}
		return true
	}
	if d.wrapped() {
		return false
	}
	_, member := d.Groups[group]
	return len(d.Entries) == 0 && member || slices.ContainsFunc(d.Entries, func(e Entry) bool { return e.State == Completed })
}

// wrapped reports whether older entries have been overwritten in the ring buffer.
// Record numbers begin with 0 or 1.
func (d *Dump) wrapped() bool { return len(d.Entries) > 0 && d.Entries[0].RecordID > 1 }

// cycle finds ranks that wait for each other in a cycle, in order; nil: none.
func (a *analysis) cycle() []int {
	on := map[int][]int{}
	for _, w := range a.out.Waits {
		on[w.Rank] = w.On
	}
	const open, done = 1, 2
	state := map[int]int{}
	next := map[int]int{} // by rank on the path: index of the wait to follow next
	for _, from := range a.ranks {
		way := []int{from}
		for len(way) > 0 {
			r := way[len(way)-1]
			if state[r] == done || next[r] == len(on[r]) {
				state[r] = done
				way = way[:len(way)-1]
				continue
			}
			state[r] = open
			to := on[r][next[r]]
			next[r]++
			switch state[to] {
			case open:
				return slices.Clone(way[slices.Index(way, to):])
			case 0:
				way = append(way, to)
			}
		}
	}
	return nil
}

// cycleText describes Cycle: who waits for whom, and in what; empty if there is none.
func (r *Report) cycleText() string {
	var said []string
	for i, rank := range r.Cycle {
		for _, w := range r.Waits {
			if w.Rank == rank {
				said = append(said, fmt.Sprintf("rank %d in %s %d of group %s waits for rank %d", rank, w.Op, w.Seq, w.Group, r.Cycle[(i+1)%len(r.Cycle)]))
			}
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "a cycle of waits: " + strings.Join(said, ", ")
}
