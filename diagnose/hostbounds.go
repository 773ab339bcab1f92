package diagnose

import (
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// mayHaveMore bounds what hosts have added to a link since the onset, bytes/s, by the load of their own links: it sums
// by how much more hosts send from which shortest paths lead over the link, and hosts take in to which they lead.
// Traffic between them is at most the lesser of the two, none on a link to another's host; file traffic has one of its
// ends elsewhere.
func (rc *regionCase) mayHaveMore(hosts []topology.DeviceID, l schema.LinkID, withFiles bool) float64 {
	from, to := rc.in.graph.Ends(l)
	isOthers := func(d topology.DeviceID) bool { return !rc.in.graph.IsSwitch(d) && !slices.Contains(hosts, d) }
	if !withFiles && (isOthers(from) || isOthers(to)) {
		return 0
	}
	sent, taken := rc.loadsOver(hosts, l)
	if withFiles {
		return max(sent.most(), taken.most())
	}
	return min(sent.most(), taken.most())
}

// loadsOver is what hosts send from which shortest paths lead over a link, and what hosts take in to which they lead.
func (rc *regionCase) loadsOver(hosts []topology.DeviceID, l schema.LinkID) (sent, taken hostLoad) {
	paths := rc.in.router.Paths
	if paths == nil || slices.ContainsFunc(hosts, rc.in.graph.IsSwitch) {
		return sent, taken
	}
	for _, d := range hosts {
		for _, own := range rc.in.graph.LinksAt(d) {
			switch from, _ := rc.in.graph.Ends(own); {
			case from == d && rc.in.leadsFrom(own, l):
				sent.add(rc.in.use(own), rc.baselineUse(own), rc.in.graph.Capacity(own))
			case from != d && rc.in.leadsTo(own, l):
				taken.add(rc.in.use(own), rc.baselineUse(own), rc.in.graph.Capacity(own))
			}
		}
	}
	return sent, taken
}

// leadsFrom reports whether shortest paths that begin with a link of a host lead over another one.
func (in *interval) leadsFrom(own, l schema.LinkID) bool {
	host, leaf := in.graph.Ends(own)
	from, to := in.graph.Ends(l)
	return own == l || in.graph.IsSwitch(from) && to != leaf && to != host && in.router.Paths.LeadFrom(leaf, l)
}

// leadsTo reports whether shortest paths that end with a link to a host lead over another one.
func (in *interval) leadsTo(own, l schema.LinkID) bool {
	leaf, host := in.graph.Ends(own)
	from, to := in.graph.Ends(l)
	return own == l ||
		in.graph.IsSwitch(to) && from != host && (!in.graph.IsSwitch(from) || in.router.Paths.LeadTo(leaf, l))
}

// sendsOver reports whether shortest paths lead from a host over a link.
func (in *interval) sendsOver(host topology.DeviceID, l schema.LinkID) bool {
	for _, own := range in.graph.LinksAt(host) {
		if from, _ := in.graph.Ends(own); from == host && in.leadsFrom(own, l) {
			return true
		}
	}
	return false
}

// Of what was added to a root beyond which a host of no job takes it in, a job whose hosts send mayFill of it more than
// before, beyond what they take in, may send it; from surelyFills on it surely does.
const mayFill, surelyFills = .7, .9

// leaving: what a job's hosts send beyond what they take in goes to a host that is none of its nodes. If that rose by
// nearly all that was added to the root, and a host of no job or of another one takes that in, it goes there, whatever
// the traffic table calls it. More than a link between switches got may go elsewhere, and what leaves a job for a host
// of another may instead be for those hosts of no job that take in more.
func (d directed) leaving(c *suspect) float64 {
	j := c.job
	if d.in.router.Grid != nil {
		return d.leavingNodes(j)
	}
	if !d.hasSink {
		return 0
	}
	left, added := d.leftMore(j), d.addedToRoot()
	if all := d.out.of(j); all > 0 { // by all ports of the host
		left, added = all, d.out.arrives
	}
	if left <= mayFill*added {
		return 0
	}
	host, known := d.fullPortTo()
	switch {
	case !known || d.in.graph.IsSwitch(host):
		left = min(left, 2*added-left)
	case len(d.in.tenants[host]) > 0:
		left -= max(0, d.takenByUnlisted()-d.othersLeave(c))
	}
	share := left / added
	if share <= mayFill || !d.tableHasLeft(j) {
		return 0
	}
	return ramp(share, mayFill, surelyFills)
}

// othersLeave is what more leaves the hosts of listed jobs other than a suspect, bytes/s, as far as it is known, if links
// that the suspect's hosts use wait: of jobs of which none does, it is sooner theirs that arrives elsewhere.
func (rc *regionCase) othersLeave(c *suspect) float64 {
	if rc.out.hostsLeave == nil || c.cross+c.gate == 0 {
		return 0
	}
	return rc.out.ofOthers(c.job)
}

// addedToRoot is what was added to a region's root since its onset or, without one, what that carries, bytes/s.
func (rc *regionCase) addedToRoot() float64 {
	if rc.timeline.hasOnset() {
		return rc.root.added
	}
	return rc.root.carries
}

// takenByUnlisted is by how much more the hosts of no listed job take in than they send, bytes/s, than before the onset
// of a region.
func (rc *regionCase) takenByUnlisted() (bytes float64) {
	for _, host := range rc.in.hostsOfNoListedJob() {
		bytes += max(0, rc.takesMore(host))
	}
	return bytes
}

// takenByJobsAt is the same of the hosts of each job at a host: the least of them.
func (rc *regionCase) takenByJobsAt(host topology.DeviceID) float64 {
	least := math.Inf(1)
	for _, j := range rc.in.tenants[host] {
		bytes := 0.
		for _, d := range j.Devices {
			bytes += rc.takesMore(d)
		}
		least = min(least, bytes)
	}
	return least
}

// takesMore is by how much more a host takes in than it sends, bytes/s, than before the onset of a region.
func (rc *regionCase) takesMore(host topology.DeviceID) float64 { return -rc.balanceOf(host).more }

// findSink: a host of no job takes in mayFill more of what was added to the full root, which leads to it, or the root is
// the port to a host of others whose hosts together take in that much more than they send: none of them sent it.
func (d directed) findSink() {
	d.findOutflows()
	root, added := &d.back.Root, d.addedToRoot()
	if root.Kind != schema.RootIncast && root.Kind != schema.RootLinkCapacity || d.in.router.Paths == nil ||
		added <= grownShare*d.root.carries {
		return
	}
	if host, known := d.fullPortTo(); known && !d.in.graph.IsSwitch(host) && len(d.in.tenants[host]) > 0 {
		d.hasSink = d.takenByJobsAt(host) >= mayFill*added
		return
	}
	for _, host := range d.in.hostsOfNoListedJob() {
		for _, l := range d.in.graph.LinksAt(host) {
			if _, to := d.in.graph.Ends(l); to == host && d.addedTo(l) >= mayFill*added && d.in.leadsTo(l, root.Link) {
				d.hasSink = true
				return
			}
		}
	}
}

// tableHasLeft reports whether a table of RDMA traffic has at least half of what left a job's hosts since the onset of a
// region, beside what these took in: otherwise a job that no table lists, on the same hosts, sent it. Without such a
// table it may be the job's.
func (rc *regionCase) tableHasLeft(j *job) bool {
	t := j.Traffic
	if t == nil || !t.Listed[history.RDMARead] && !t.Listed[history.RDMAWrite] {
		return true
	}
	now, beyond, left := rc.in.history.Clock.Now, 0., 0.
	for slot := max(rc.timeline.began()+1, now-accountedIntervals+1); slot <= now; slot++ {
		sent, taken := rc.in.carriedByHosts(j, slot, true), rc.in.carriedByHosts(j, slot, false)
		listed := listedBytes(t, slot)
		if !math.IsNaN(sent + taken + listed) {
			beyond, left = beyond+listed-min(sent, taken), left+max(0, sent-taken)
		}
	}
	return beyond >= left/2
}

// leftMore is by how much more a job's hosts send than they take in, bytes/s, than before the onset of a region, of
// those all of whose links were read and from which shortest paths lead over the root.
func (rc *regionCase) leftMore(j *job) (bytes float64) {
	if rc.in.router.Grid != nil {
		return rc.sentByNodes(j)
	}
	for _, host := range j.Devices {
		b := rc.balanceOf(host)
		if b.read && (b.before || !rc.timeline.hasOnset()) && rc.in.sendsOver(host, rc.back.Root.Link) {
			bytes += b.more
		}
	}
	return bytes
}

// hostLoad is the load of some hosts' links.
type hostLoad struct {
	carries     float64 // bytes/s
	added       float64 // to those that carry more than before the onset, bytes/s
	links, read int     // how many links there are, and how many of them have readings
}

// add adds a host's link, of a capacity in bytes/s.
func (n *hostLoad) add(use, baseline percent, capacity float64) {
	if n.links++; use.known {
		n.read++
	}
	n.carries += use.orZero() / 100 * capacity
	if baseline.known {
		n.added += max(0, use.orZero()-baseline.of) / 100 * capacity
	}
}

// most is what was added, or no bound if no link has readings: where only switches report, what hosts send is not
// counted.
func (n *hostLoad) most() float64 { return n.bound(n.added) }

// mostNow is what the links carry, or no bound.
func (n *hostLoad) mostNow() float64 { return n.bound(n.carries) }

// bound is a sum over the links, or no bound if none was read.
func (n *hostLoad) bound(sum float64) float64 {
	if n.links > 0 && n.read == 0 {
		return math.Inf(1)
	}
	return sum
}
