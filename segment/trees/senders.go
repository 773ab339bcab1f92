package trees

import (
	"cmp"
	"math"
	"slices"
)

// sender is a leaf whose ways up stall.
type sender struct {
	leaf, cause int32 // cause: of most of its ways up
	level       float64
	links       int
	kind        sending
	set         int32 // of leaves that send alone and are level
}

type sending uint8

const (
	unevenly  sending = iota
	alone             // the ways up and the hosts stall alike, as in an exchange of all with all, but not what comes
	receiving         // what comes does, too
)

// senders parts exchanges of which only what is sent is seen to stall, since the ports that it waits for are full and do not:
// all of them meet at the switches above, and with others. Their levels tell them apart.
type senders struct {
	all   []sender
	sets  []senderSet
	free  []int32
	cause int32
	given []senderSet // those that got a cause of their own
	level float64     // of the calmest leaf of the cause that receives, 0 if there is none
}

// senderSet is leaves that do not receive and are level.
type senderSet struct {
	plateau
	alone int
	name  int32 // its cause
}

// sendsAlone reports whether most of a set's leaves, two or more, send alone.
func (x *senderSet) sendsAlone() bool { return x.alone >= fewestSenders && 2*x.alone > x.sinks }

const (
	sendingHosts  = .7  // of a leaf's hosts, that stall if all exchange
	senderRatio   = .85 // of levels that are one exchange's
	fewestSenders = 2
)

// partSenders gives leaves that send alone and are level a cause of their own, where what they are of has other leaves, too.
func (c *causes) partSenders(t *trees, s *sinks, h *shares) {
	v := &c.senders
	v.find(t, s, h)
	v.given = v.given[:0]
	slices.SortFunc(v.all, func(a, b sender) int {
		return cmp.Or(cmp.Compare(a.cause, b.cause), cmp.Compare(a.level, b.level), cmp.Compare(t.waits.byName[a.leaf], t.waits.byName[b.leaf]))
	})
	for i := 0; i < len(v.all); {
		j := i + 1
		for ; j < len(v.all) && v.all[j].cause == v.all[i].cause; j++ {
		}
		if cause := v.all[i].cause; cause >= 0 && int(cause) < len(s.all) {
			v.part(t, h, v.all[i:j], c.others(s, cause))
		}
		i = j
	}
	c.followUp(t, h)
}

// followUp gives links up from higher switches to the cause of most that waits for them there, if they stall as much.
func (c *causes) followUp(t *trees, h *shares) {
	v := &c.senders
	if len(v.given) == 0 {
		return
	}
	for _, i := range slices.Backward(t.order) { // what waits for a link comes before it
		if !t.waits.isUp(t.links[i]) || t.leafOf(i) >= 0 || h.of[i].n != 1 {
			continue
		}
		c.votes = c.votes[:0]
		for _, j := range t.into.of(t.from[i]) {
			if t.waits.isUp(t.links[j]) && h.main(j) >= 0 {
				c.votes = append(c.votes, vote{h.main(j), 0, 1})
			}
		}
		best := c.mostVoted()
		if k := slices.IndexFunc(v.given, func(x senderSet) bool { return x.name == best }); k >= 0 && ratio(t.stall[i], v.given[k].stall()) >= senderRatio {
			h.of[i].at[0].cause = best
		}
	}
}

// find lists the leaves of which ways up stall.
func (v *senders) find(t *trees, s *sinks, h *shares) {
	v.all = v.all[:0]
	for d := range int32(len(t.seen)) {
		if t.waits.isLeaf(d) && t.stalledInto(d) > 0 {
			if x := senderAt(t, s, h, d); x.cause >= 0 {
				v.all = append(v.all, x)
			}
		}
	}
}

// senderAt is what stalls of a leaf's hosts and ways up; of no cause if too few of these do.
func senderAt(t *trees, s *sinks, h *shares, leaf int32) sender {
	x := sender{leaf: leaf, cause: -1}
	ups, hosts, wide, up, host := 0, 0, 0, 0., 0.
	s.sample = s.sample[:0]
	h.eachAt(t, leaf, func(i int32) {
		s.sample = append(s.sample, t.stall[i])
		if t.fromHost(i) {
			hosts, host = hosts+1, host+t.stall[i]
			return
		}
		if ups, up = ups+1, up+t.stall[i]; t.breadth[i] == allWays {
			wide++
		}
	})
	if ups < minFeeders {
		return x
	}
	x.cause, x.links, x.level = h.mainOf(t, leaf), ups, up/float64(ups)
	isLevel := math.Abs(up/float64(ups)-host/float64(max(1, hosts))) <= t.noise.meanError(x.level, ups, hosts)
	if 2*wide < ups || float64(hosts) < sendingHosts*float64(t.waits.hosts[leaf]) || !isLevel {
		return x
	}
	middle := medianOf(s.sample)
	x.links, x.level = ups+hosts, middle
	switch a := s.at[leaf]; {
	case deviationOf(s.sample, middle) > unevenDeviations*t.noise.sigma(middle):
	case a >= 0 && s.all[a].down() >= minFeeders:
		x.kind = receiving
	default:
		x.kind = alone
	}
	return x
}

// eachAt calls for all nodes that leave a leaf's hosts or go up from it.
func (h *shares) eachAt(t *trees, leaf int32, do func(i int32)) {
	for _, nodes := range [2][]int32{t.leaving.of(leaf), t.into.of(leaf)} {
		for _, i := range nodes {
			if t.leafOf(i) == leaf {
				do(i)
			}
		}
	}
}

// mainOf is the cause of more than half of what leaves a leaf, or -1 (Boyer and Moore's vote).
func (h *shares) mainOf(t *trees, leaf int32) int32 {
	best, lead, n, all := int32(-1), 0, 0, 0
	h.eachAt(t, leaf, func(i int32) {
		switch m := h.main(i); {
		case lead == 0:
			best, lead = m, 1
		case m == best:
			lead++
		default:
			lead--
		}
	})
	h.eachAt(t, leaf, func(i int32) {
		if all++; h.main(i) == best {
			n++
		}
	})
	if 2*n <= all {
		return -1
	}
	return best
}

// others are the sinks of a cause but the one that names it.
func (c *causes) others(s *sinks, cause int32) []int32 {
	free := c.senders.free[:0]
	for a := range int32(len(s.all)) {
		if a != cause && c.sets.Find(a) == cause {
			free = append(free, a)
		}
	}
	c.senders.free = free
	return free
}

// part parts the leaves of one cause, the calmest first; new causes are named by other sinks of it. Of a leaf at which two
// add up, what is sent belongs to both.
func (v *senders) part(t *trees, h *shares, all []sender, names []int32) {
	cause := all[0].cause
	v.cause = cause
	v.listSets(t, all)
	stays := -1 // the set that keeps the cause, where all are alike
	if v.level == 0 && !slices.ContainsFunc(v.sets, func(x senderSet) bool { return !x.sendsAlone() }) {
		for k, x := range v.sets {
			if stays < 0 || x.sinks > v.sets[stays].sinks {
				stays = k
			}
		}
	}
	for k := range v.sets {
		x := &v.sets[k]
		switch {
		case k == stays:
			x.name = cause
		case x.sendsAlone() && len(names) > 0 && !v.addsUp(t, x.stall(), x.links, nil):
			x.name, names = names[0], names[1:]
			v.given = append(v.given, *x)
		}
	}
	for _, x := range all {
		switch {
		case x.kind != receiving && v.sets[x.set].name >= 0:
			h.renameAt(t, x.leaf, cause, v.sets[x.set].name)
		default:
			v.addsUp(t, x.level, x.links, func(a, b part) {
				h.eachAt(t, x.leaf, func(i int32) {
					if p := &h.of[i]; p.has(cause) {
						p.set(a, b)
						p.sort()
					}
				})
			})
		}
	}
}

// listSets lists the sets of leaves that send alone, and finds the level of those that receive.
func (v *senders) listSets(t *trees, all []sender) {
	v.sets, v.level = v.sets[:0], 0
	for i := range all {
		x := &all[i]
		if x.kind == receiving {
			if v.level == 0 {
				v.level = x.level
			}
			continue
		}
		k := len(v.sets) - 1
		if k < 0 || ratio(v.sets[k].stall(), x.level) < senderRatio && x.level-v.sets[k].stall() > t.noise.meanError(x.level, x.links, v.sets[k].links) {
			v.sets = append(v.sets, senderSet{name: -1})
			k++
		}
		y := &v.sets[k]
		y.sinks, y.links, y.sum = y.sinks+1, y.links+x.links, y.sum+x.level*float64(x.links)
		if x.kind == alone {
			y.alone++
		}
		x.set = int32(k)
	}
}

// addsUp reports whether the levels of two exchanges add up to a third, as sums or as chances, and calls with them.
func (v *senders) addsUp(t *trees, level float64, links int, take func(a, b part)) bool {
	within := t.noise.meanError(level, links, links)
	of := func(k int) part {
		if k < 0 {
			return part{cause: v.cause, stall: v.level}
		}
		return part{cause: v.sets[k].name, stall: v.sets[k].stall()}
	}
	for j := range v.sets {
		for k := -1; k < j; k++ {
			a, b := of(j), of(k)
			if a.cause < 0 || b.stall == 0 || b.cause < 0 {
				continue
			}
			if sum := a.stall + b.stall; math.Abs(sum-level) < within || math.Abs(sum-a.stall*b.stall/100-level) < within {
				if take != nil {
					take(a, b)
				}
				return true
			}
		}
	}
	return false
}

// renameAt gives what of a cause leaves a leaf to another.
func (h *shares) renameAt(t *trees, leaf, cause, name int32) {
	h.eachAt(t, leaf, func(i int32) {
		p := &h.of[i]
		for k := range p.list() {
			if p.at[k].cause == cause {
				p.at[k].cause = name
			}
		}
		p.sort()
	})
}
