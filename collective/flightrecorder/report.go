package flightrecorder

import (
	"fmt"
	"slices"
	"strings"
)

// Report is the finding about a hang. Lists of ranks are sorted.
type Report struct {
	Ranks         int   // of the job
	Hung          bool  // some rank waits in an operation
	Stopped       []int // others wait for them and they wait for no one, or their devices stopped completing
	Late          []int // late in collectives that still complete
	Missing       []int // ranks of the job without a dump
	Read          []int // ranks whose dumps were read
	Cycle         []int // each waits for the next, and the last for the first
	Waits         []Wait
	Disagreements []Disagreement
	Skews         []Skew
	Notes         []string // what was duplicated, missing or assumed
}

// Wait is a rank in an operation that it cannot complete.
type Wait struct {
	Rank  int
	On    []int // ranks that it waits for; empty: all take part, but the operation does not complete
	Group string
	Op    string
	Seq   int64
}

// Disagreement is a collective that the ranks of a group do not agree on.
type Disagreement struct {
	Group    string
	Seq      int64
	Op       string // what most ranks enqueued
	Ranks    []int  // those that enqueued something else; all if no choice has a majority
	Enqueued string // what these enqueued
	// Sides lists each choice with its ranks if none has a majority.
	Sides []string
}

// text says who enqueued what, with the given verb.
func (d *Disagreement) text(verb string) string {
	at := fmt.Sprintf("collective %d of group %s", d.Seq, d.Group)
	if len(d.Sides) > 0 {
		return fmt.Sprintf("no majority on %s: %s", at, strings.Join(d.Sides, ", "))
	}
	return fmt.Sprintf("%s %s on %s: %s instead of %s", rankList(d.Ranks), verb, at, d.Enqueued, d.Op)
}

// Skew is how far a rank's clock is ahead of the others.
type Skew struct {
	Rank  int
	Nanos int64
}

// analysis is the state of reportOf: the dumps of a job, by rank.
type analysis struct {
	dumps  map[int]*Dump
	ranks  []int   // that have a dump
	unread []*Dump // that cannot be read
	heads  map[int]*Entry

	listed, seen map[string]Group // of pg_config, and of entries without one
	out          Report
}

// reportOf finds the stopped ranks by the wait-for graph: each rank waits in its oldest
// operation that has not completed, its head, for the ranks that have not enqueued it.
// Ranks that are waited for and wait for none have stopped.
func reportOf(dumps []*Dump) (Report, error) {
	a := &analysis{dumps: map[int]*Dump{}, heads: map[int]*Entry{}, listed: map[string]Group{}, seen: map[string]Group{}}
	for _, d := range dumps {
		a.add(d)
	}
	if len(a.dumps) == 0 && len(dumps) > 0 {
		return Report{}, dumps[0].unread
	}
	if len(a.dumps) == 0 {
		return Report{}, fmt.Errorf("no Flight Recorder dumps: want files whose names end in the rank, as in _dump_12")
	}
	a.findGroups()
	a.findMissing()
	a.out.Read = a.ranks
	for _, r := range a.ranks {
		if i := slices.IndexFunc(a.dumps[r].Entries, func(e Entry) bool { return e.State != Completed }); i >= 0 {
			a.heads[r] = &a.dumps[r].Entries[i]
		}
	}
	a.out.Hung = len(a.heads) > 0
	a.disagree()
	a.stop()
	a.late()
	return a.out, nil
}

// add keeps the newer of two dumps of a rank. Unreadable dumps are kept apart.
func (a *analysis) add(d *Dump) {
	if d.unread != nil {
		a.unread = append(a.unread, d)
		return
	}
	before, doubled := a.dumps[d.Rank]
	if doubled {
		a.note("rank %d has several dumps: the one with the latest operation is used", d.Rank)
		if before.latest() >= d.latest() {
			return
		}
	} else {
		a.ranks = append(a.ranks, d.Rank)
		slices.Sort(a.ranks)
	}
	a.dumps[d.Rank] = d
}

func (d *Dump) latest() int64 {
	if len(d.Entries) == 0 {
		return 0
	}
	return d.Entries[len(d.Entries)-1].CreatedNanos
}

func (a *analysis) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(a.out.Notes, text) {
		a.out.Notes = append(a.out.Notes, text)
	}
}

func (a *analysis) findMissing() {
	for _, r := range a.ranks {
		for _, g := range a.dumps[r].Groups {
			for _, member := range g.Ranks {
				a.out.Ranks = max(a.out.Ranks, member+1)
				if a.dumps[member] == nil && !slices.Contains(a.out.Missing, member) {
					a.out.Missing = append(a.out.Missing, member)
				}
			}
		}
		a.out.Ranks = max(a.out.Ranks, r+1)
	}
	for _, d := range a.unread {
		if a.dumps[d.Rank] != nil {
			a.note("%v; the other dump of rank %d is used", d.unread, d.Rank)
			continue
		}
		a.note("rank %d is treated as having no dump: %v", d.Rank, d.unread)
		a.out.Ranks = max(a.out.Ranks, d.Rank+1)
		if !slices.Contains(a.out.Missing, d.Rank) {
			a.out.Missing = append(a.out.Missing, d.Rank)
		}
	}
	slices.Sort(a.out.Missing)
	if len(a.out.Missing) > 0 {
		a.note("no dump of %s", rankList(a.out.Missing))
	}
}

// members of an entry's group, in the group's order.
func (a *analysis) members(r int, e *Entry) []int { return a.group(r, e.Group).Ranks }

// stop fills Waits and Stopped.
func (a *analysis) stop() {
	waitedFor := map[int]bool{}
	waits := map[int]bool{}
	var dead []int
	for _, r := range a.ranks {
		if a.deviceDead(r) {
			dead = append(dead, r)
		}
	}
	for _, r := range a.ranks {
		head := a.heads[r]
		if head == nil {
			continue
		}
		w := Wait{Rank: r, Group: a.groupName(r, head), Op: head.Op, Seq: head.Seq, On: a.waitsOn(r, head)}
		if head.P2P {
			w.Seq = head.P2PSeq
		}
		slices.Sort(w.On)
		a.out.Waits = append(a.out.Waits, w)
		waits[r] = len(w.On) > 0
		for _, on := range w.On {
			waitedFor[on] = true
		}
	}
	a.out.Stopped = dead
	var absent []int
	for on := range waitedFor {
		switch {
		case a.dumps[on] == nil:
			absent = append(absent, on)
		case !waits[on] && a.heads[on] == nil, !waits[on] && a.behind(on):
			a.out.Stopped = append(a.out.Stopped, on)
		}
	}
	switch {
	case len(a.out.Stopped) == 0 && len(a.out.Disagreements) == 0 && !a.out.few():
		a.out.Stopped = absent
	case len(absent) > 0:
		slices.Sort(absent)
		a.note("ranks wait for %s without a dump: stopped, or waiting themselves", rankList(absent))
	}
	slices.Sort(a.out.Stopped)
	a.out.Stopped = slices.Compact(a.out.Stopped)
	a.out.Cycle = a.cycle()
}

func (a *analysis) groupName(r int, e *Entry) string {
	if desc := a.group(r, e.Group).Desc; desc != "" {
		return e.Group + " " + desc
	}
	return e.Group
}

// synchronising operations complete on a rank only after all ranks take part.
func synchronising(op string) bool {
	for _, name := range []string{"all_reduce", "allreduce", "all_gather", "allgather", "reduce_scatter", "all_to_all", "alltoall", "barrier"} {
		if strings.Contains(strings.ToLower(op), name) {
			return true
		}
	}
	return false
}

// deviceDead reports whether a peer completed a collective that the rank took part in
// but has not completed: its device failed.
func (a *analysis) deviceDead(r int) bool {
	for i := range a.dumps[r].Entries {
		e := &a.dumps[r].Entries[i]
		if e.State == Completed || e.P2P || !synchronising(e.Op) {
			continue
		}
		for _, peer := range a.members(r, e) {
			d := a.dumps[peer]
			if d == nil || peer == r {
				continue
			}
			if s, known := d.status(e.Group); !known || s.Completed < e.Seq {
				continue
			}
			if !d.isOpen(e.Group, e.Seq) {
				return true
			}
			a.note("rank %d: pg_status reports collective %d of group %s as completed, its entry does not: the entry is used", peer, e.Seq, e.Group)
		}
	}
	return false
}

// isOpen reports whether a dump has an entry of a collective that did not complete.
func (d *Dump) isOpen(group string, seq int64) bool {
	return slices.ContainsFunc(d.Entries, func(e Entry) bool { return !e.P2P && e.Group == group && e.Seq == seq && e.State != Completed })
}

// behind reports whether a rank, which itself waits for none, has not enqueued a
// collective that another rank waits in.
func (a *analysis) behind(r int) bool {
	for _, other := range a.ranks {
		head := a.heads[other]
		if head == nil || head.P2P || other == r || !slices.Contains(a.members(other, head), r) {
			continue
		}
		if s, known := a.dumps[r].status(head.Group); known && s.Enqueued < head.Seq {
			return true
		}
	}
	return false
}

// waitsOn returns the ranks that a rank waits for in its head.
func (a *analysis) waitsOn(r int, head *Entry) []int {
	if head.P2P {
		return a.waitsOnPeer(r, head)
	}
	var absent, behind, earlier, unstarted []int
	for _, peer := range a.members(r, head) {
		d := a.dumps[peer]
		switch {
		case peer == r:
		case d == nil:
			absent = append(absent, peer)
		default:
			s, known := d.status(head.Group)
			at := a.heads[peer]
			switch {
			case known && s.Enqueued < head.Seq:
				behind = append(behind, peer)
			case at != nil && (at.Group != head.Group || at.Seq != head.Seq || at.P2P) && s.Completed < head.Seq:
				earlier = append(earlier, peer)
			case at != nil && at.State == Scheduled && head.State == Started:
				unstarted = append(unstarted, peer)
			}
		}
	}
	for _, on := range [][]int{behind, earlier, unstarted, absent} {
		if len(on) > 0 {
			return on
		}
	}
	return nil
}

// waitsOnPeer returns whom a rank waits for in a send or receive: its peer, unless that
// is in the matching operation.
func (a *analysis) waitsOnPeer(r int, head *Entry) []int {
	from, to, ok := ends(head.Op)
	members := a.members(r, head)
	if !ok || from >= len(members) || to >= len(members) || !a.inOrder(r, head.Group) {
		return nil
	}
	peer := members[from]
	if peer == r {
		peer = members[to]
	}
	if at := a.heads[peer]; at != nil && at.P2P && at.Group == head.Group {
		if f, t, ok := ends(at.Op); ok && f == from && t == to {
			return nil
		}
	}
	return []int{peer}
}

// ends parses "nccl:send 0->3" or "nccl:recv 2<-3", in ranks of the group.
func ends(op string) (from, to int, ok bool) {
	_, pair, found := strings.Cut(op, " ")
	if !found {
		return 0, 0, false
	}
	if n, _ := fmt.Sscanf(pair, "%d->%d", &from, &to); n == 2 {
		return from, to, from >= 0 && to >= 0
	}
	n, _ := fmt.Sscanf(pair, "%d<-%d", &to, &from)
	return from, to, n == 2 && from >= 0 && to >= 0
}

// rankList is "rank 3", or "ranks 3, 5".
func rankList(ranks []int) string {
	word := "rank "
	if len(ranks) > 1 {
		word = "ranks "
	}
	return word + strings.Trim(strings.ReplaceAll(fmt.Sprint(ranks), " ", ", "), "[]")
}
