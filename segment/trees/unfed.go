package trees

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

// leastFed is the share of a region's links that are on the way of its own waiting hosts, below which it is unfed.
const leastFed = .6

// unfed finds regions that show no receiver, and of which most links are not on the way of hosts that wait in them. Back
// pressure that reaches such links also reaches the hosts that send over them, so these are part of what waits beside them:
// an exchange of a few hosts of many leaves stalls mostly where its flows meet, in several places.
type unfed struct {
	isSeen  index.By[index.Device, bool] // by device, while one region is looked at
	seen    []index.Device               // devices of isSeen
	size    index.By[patchID, int32]     // by set of all: links
	isWhole index.By[patchID, bool]      // by set of all: hosts wait in it, and no receiver shows
	parts   []patchID                    // unfed regions, as sets of all
	near    index.By[patchID, int32]     // by set of all: its links around one region
	touched []patchID                    // sets of all that have any
	joins   []unfedJoin
}

// unfedJoin is an unfed region and what it is part of, as sets of all.
type unfedJoin struct{ part, whole patchID }

// joinUnfed joins each unfed region with a larger one beside it in which hosts wait, and which shows no receiver either.
func (p *patches) joinUnfed(m *Method) {
	u := &p.unfed
	u.find(m, p)
	u.joins = u.joins[:0]
	for _, k := range u.parts {
		if whole := u.wholeOf(m, p, k); whole != noRegion {
			u.joins = append(u.joins, unfedJoin{k, whole})
		}
	}
	// The largest first, so that what a whole is part of is joined before its parts: they have the root of the largest.
	slices.SortFunc(u.joins, func(a, b unfedJoin) int { return cmp.Compare(u.size[b.part], u.size[a.part]) })
	for _, j := range u.joins {
		r := p.all[p.sets.Find(j.whole)].root
		p.all[p.sets.Union(j.part, j.whole)].root = r
	}
}

// find finds the unfed regions, and those that others may be part of.
func (u *unfed) find(m *Method, p *patches) {
	n := len(p.all)
	for len(u.isSeen) < len(m.Seen) {
		u.isSeen = append(u.isSeen, false)
	}
	u.size, u.isWhole, u.near = scratch.Slice(u.size, n), scratch.Zeroed(u.isWhole, n), scratch.Zeroed(u.near, n)
	u.parts = u.parts[:0]
	for set, nodes := range p.eachSet {
		u.size[set] = int32(len(nodes))
		if m.showsRoot(p.all[set].root) {
			continue
		}
		u.isWhole[set] = slices.ContainsFunc(nodes, m.FromHost)
		if float64(u.fed(m, nodes)) < leastFed*float64(len(nodes)) {
			u.parts = append(u.parts, set)
		}
	}
}

// showsRoot reports whether a link is the root, or a port of its switch stands out although it hardly stalls.
func (m *Method) showsRoot(r backpressure.Root) bool {
	return r.Link != schema.NoLink || r.Device != backpressure.NoDevice && m.quietPort(r.Device) != schema.NoLink
}

// fed counts the links of a region that are on the way of its hosts, or of hosts whose links have no value.
func (u *unfed) fed(m *Method, nodes []index.Node) (n int) {
	isUnread := func(l index.Link) bool { return m.Graph.FromHost(l) && m.Values[l] == linkset.Missing }
	last := backpressure.NoDevice
	for _, i := range nodes {
		if m.FromHost(i) {
			u.see(m.To[i])
			continue
		}
		if d := m.From[i]; d != last && m.Graph.Hosts[d] > 0 && !u.isSeen[d] && slices.ContainsFunc(m.Graph.In.Of(d), isUnread) {
			u.see(d)
		}
		last = m.From[i]
	}
	for before := -1; before < len(u.seen); {
		before = len(u.seen)
		for _, i := range nodes {
			if !m.FromHost(i) && u.isSeen[m.From[i]] {
				u.see(m.To[i])
			}
		}
	}
	for _, i := range nodes {
		if m.FromHost(i) || u.isSeen[m.From[i]] {
			n++
		}
	}
	u.forget()
	return n
}

// see marks a device.
func (u *unfed) see(d index.Device) {
	if !u.isSeen[d] {
		u.isSeen[d] = true
		u.seen = append(u.seen, d)
	}
}

// forget removes all marks.
func (u *unfed) forget() {
	for _, d := range u.seen {
		u.isSeen[d] = false
	}
	u.seen = u.seen[:0]
}

// wholeOf is the larger region that an unfed one is part of: that with most links at its switches and at their
// neighbours, of several the largest; noRegion if there is none, or two are alike.
func (u *unfed) wholeOf(m *Method, p *patches, part patchID) patchID {
	u.seeAround(m, p, part)
	for _, d := range u.seen {
		u.countAt(p, m.Leaving.Of(d))
		u.countAt(p, m.Into.Of(d))
	}
	u.forget()
	best, isTied := noRegion, false
	for _, r := range u.touched {
		if !u.isWhole[r] || u.size[r] <= u.size[part] {
			continue
		}
		order := 1
		if best != noRegion {
			order = cmp.Or(cmp.Compare(u.near[r], u.near[best]), cmp.Compare(u.size[r], u.size[best]))
		}
		if order >= 0 {
			best, isTied = r, order == 0
		}
	}
	for _, r := range u.touched {
		u.near[r] = 0
	}
	u.touched = u.touched[:0]
	if isTied {
		return noRegion
	}
	return best
}

// countAt counts nodes by the set of their region.
func (u *unfed) countAt(p *patches, nodes []index.Node) {
	for _, i := range nodes {
		if p.region[i] == noRegion {
			continue
		}
		r := p.sets.Find(p.region[i])
		if u.near[r] == 0 {
			u.touched = append(u.touched, r)
		}
		u.near[r]++
	}
}

// seeAround sees the switches of a region's links, and their neighbours.
func (u *unfed) seeAround(m *Method, p *patches, set patchID) {
	w := m.Graph
	for k := range p.all.Len() {
		if p.sets.Find(k) != set {
			continue
		}
		for _, i := range p.nodesOf(&p.all[k]) {
			for _, d := range [2]index.Device{m.From[i], m.To[i]} {
				if w.IsSwitch[d] {
					u.see(d)
				}
			}
		}
	}
	own := len(u.seen)
	for k := range own {
		for _, l := range w.Out.Of(u.seen[k]) {
			if to := w.To[l]; w.IsSwitch[to] {
				u.see(to)
			}
		}
	}
}
