package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// drain is the switch of a torus or mesh whose nodes do not take what arrives. The links of these fabrics know no
// direction, so that back pressure cannot be followed; but under dimension-order routing all that goes to one
// switch forms a tree, and what stalls, what is held back and what was added is on the links of the tree.
type drain struct {
	device topology.DeviceID
	fit    float64 // how well what is seen and the tree agree, 0 to 1; 0: none
	tree   float64 // the same by all links of the tree alike, as the fit of a neck is
	job    *job    // whose nodes send; nil: not known
	grew   bool    // what is compared is what was added
	idle   bool    // the region's links have nothing to send for a part of the time
	// Who sends, ascending.
	senders []topology.DeviceID
	meeting meeting
}

const (
	// drainFit is the least fit of a tree for its end to be called the root.
	drainFit = .75
	// grownFit is the same where load was added and no full link is known: in full buffers what is held up of others hides
	// how much of it goes where, but what was added lies on the tree, and most where it ends.
	grownFit = .5
	// unknownFit is the same where the senders are not known, leastSenders how many they must be.
	unknownFit, leastSenders = .85, 4
	// meetsWeight is what it counts beside the fit of known senders that traffic meets at a switch of the line, or
	// meetsBeside, where a tree of theirs fits so well (wellFits) that it says more.
	meetsWeight, meetsBeside, wellFits = 1, .05, .98
	// memberWeight is what it counts that the end is a node of the job itself: what its nodes send goes to one of them, unless
	// it is traffic with files, and two neighbours on a line show nearly the same.
	memberWeight = .15
	// inTree is the share of what is held back that must lie on links which a tree to a switch can have.
	inTree = .6
	// drainSenders bounds the jobs whose nodes are tried as senders, and drainEnds the switches that are tried.
	drainSenders, drainEnds = 3, 24
)

// surely reports whether the tree is known well enough for its end to be a root.
func (d *drain) surely() bool { return d.fit >= drainFit || d.grew && d.fit >= grownFit }

// drainOf finds the switch that a region's traffic converges on, if it does.
func (s *Stage) drainOf(rc *regionCase, p *pressure) drain {
	var best drain
	if s.router.Grid == nil || !s.graph.Duplex() {
		return best
	}
	h := &s.work.held
	h.take(rc.region.Links, p)
	idle := h.idles(p)
	ends, most := h.ends(p)
	if len(ends) == 0 {
		return drain{idle: idle}
	}
	meeting := h.meetingOf(ends, idle, p)
	if !most {
		return drain{idle: idle, meeting: meeting}
	}
	best = s.knownDrain(rc, ends, p)
	if best.fit < drainFit {
		if unknown := s.unknownDrain(meeting.device, p); unknown.fit > best.fit {
			best = unknown
		}
	}
	if best.fit > 0 {
		h.tree.Gather(best.senders, best.device)
		best.tree, best.grew = h.agreement(p), h.grew
	}
	best.meeting, best.idle = meeting, idle
	return best
}

// knownDrain is the tree to one of the ends with the nodes of one of the likeliest jobs as senders.
func (s *Stage) knownDrain(rc *regionCase, ends []topology.DeviceID, p *pressure) (best drain) {
	h := &s.work.held
	h.trees = h.trees[:0]
	weight := 1. * meetsWeight
	for _, suspect := range rc.likeliestSenders() {
		job := rc.jobs[suspect].job
		for i, d := range ends {
			fit := h.treeFit(job.devices, d, p)
			if fit >= wellFits {
				weight = meetsBeside
			}
			if _, member := slices.BinarySearch(job.devices, d); member {
				fit += memberWeight
			}
			h.trees = append(h.trees, knownTree{job, i, fit})
		}
	}
	if len(h.trees) == 0 {
		return best
	}
	tree := slices.MaxFunc(h.trees, func(a, b knownTree) int { return cmp.Or(cmp.Compare(a.fit, b.fit), cmp.Compare(b.end, a.end)) })
	line, most := h.grid.LastLine(ends[tree.end]), math.Inf(-1)
	for _, k := range h.trees {
		d := ends[k.end]
		if score := k.fit + weight*h.scores[k.end]; k.job == tree.job && line.Has(d) && score > most {
			most = score
			best = drain{device: d, fit: tree.fit, job: k.job, senders: k.job.devices}
		}
	}
	return best
}

// knownTree is the tree from a job's nodes to an end that is tried, and how well what is seen agrees with it.
type knownTree struct {
	job *job
	end int
	fit float64
}

// unknownDrain is the tree to the switch where the traffic of a region meets, with senders that are taken from what is held
// back: they may be of a job that no table has.
func (s *Stage) unknownDrain(end topology.DeviceID, p *pressure) drain {
	h := &s.work.held
	senders := h.sendersTo(end)
	if len(senders) < leastSenders {
		return drain{}
	}
	fit := h.treeFit(senders, end, p)
	if fit < unknownFit {
		return drain{}
	}
	return drain{device: end, fit: fit, senders: slices.Clone(senders)}
}

// surelyDrains is from which fit on a tree says who does not send, fewSenders the share of the senders that a job
// has at most for that to be so.
const surelyDrains, fewSenders = .85, .25

// excludes reports whether the region is a tree to whose senders a job does not belong, and that does not end at a node of
// its own. Traffic with files is sent by storage nodes.
func (d *drain) excludes(c *suspect) bool {
	if d.fit < surelyDrains || c.job == d.job || c.file || d.endsAt(c.job) {
		return false
	}
	n := 0
	for _, s := range d.senders {
		if _, own := slices.BinarySearch(c.job.devices, s); own {
			n++
		}
	}
	return float64(n) < fewSenders*float64(len(d.senders))
}

// endsAt reports whether a tree ends at a node of a job.
func (d *drain) endsAt(j *job) bool {
	_, own := slices.BinarySearch(j.devices, d.device)
	return own
}

// likeliestSenders are the jobs most of whose exchange lies on the region, as indices.
func (rc *regionCase) likeliestSenders() []int {
	var out []int
	for i := range rc.jobs {
		if c := &rc.jobs[i]; max(c.cross, c.gate, c.way) >= rootShare && len(c.job.devices) > 1 {
			out = append(out, i)
		}
	}
	weight := func(i int) float64 { return max(rc.jobs[i].cross, rc.jobs[i].gate) + rc.jobs[i].burden }
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(weight(b), weight(a)) })
	return out[:min(len(out), drainSenders)]
}

// alikeFull is within how many percent of their capacity links are as full as each other.
const alikeFull = 5

// fullLink is, on a grid, the link at a region that carries most of its capacity, if that is more than before the onset and
// the link does not stall itself; of several alike the one before which the region lies. It is NoLink where none is full.
func (s *Stage) fullLink(rc *regionCase, p *pressure) schema.LinkID {
	best, most := schema.NoLink, float64(fullPercent)
	if s.router.Grid == nil {
		return best
	}
	if n := &rc.neck; n.link != schema.NoLink && !n.slower && n.before(&rc.drain) {
		best, most = n.link, max(most, p.useOf(n.link)+alikeFull)
	}
	for _, l := range rc.region.Links {
		from, to := s.graph.Ends(l)
		for _, d := range [2]topology.DeviceID{from, to} {
			for _, out := range s.graph.LinksAt(d) {
				if use := p.useOf(out); use > most && s.router.Grid.Dim(out) >= 0 && p.stallOf(out) < lineStall && use > steadyLoad*p.before(out) {
					best, most = out, use
				}
			}
		}
	}
	return best
}
