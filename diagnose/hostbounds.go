package diagnose

import (
	"math"
	"slices"

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
	from, to := rc.in.graph.Ends(l)
	for _, d := range hosts {
		leaf := rc.in.router.LeafOf(d)
		sends := from == d || rc.in.graph.IsSwitch(from) && leaf != to && to != d && paths.LeadFrom(leaf, l)
		takes := to == d ||
			rc.in.graph.IsSwitch(to) && from != d && (!rc.in.graph.IsSwitch(from) || paths.LeadTo(leaf, l))
		if !sends && !takes {
			continue
		}
		for _, own := range rc.in.graph.LinksAt(d) {
			if a, _ := rc.in.graph.Ends(own); a == d && sends {
				sent.add(rc.in.use(own), rc.baselineUse(own), rc.in.graph.Capacity(own))
			} else if a != d && takes {
				taken.add(rc.in.use(own), rc.baselineUse(own), rc.in.graph.Capacity(own))
			}
		}
	}
	return sent, taken
}

// mayLeave bounds what leaves a job for a host that is none of its nodes, bytes/s: what its hosts send beyond what they
// take in, as traffic within the job is in both.
func (rc *regionCase) mayLeave(j *job) (bytes float64) {
	for _, d := range j.Devices {
		for _, l := range rc.in.graph.LinksAt(d) {
			use, capacity := rc.in.use(l), rc.in.graph.Capacity(l)
			switch from, _ := rc.in.graph.Ends(l); {
			case from != d:
				bytes -= use.orZero() / 100 * capacity
			case use.known:
				bytes += use.of / 100 * capacity
			default:
				bytes += capacity
			}
		}
	}
	return max(0, bytes)
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

func (n *hostLoad) bound(sum float64) float64 {
	if n.links > 0 && n.read == 0 {
		return math.Inf(1)
	}
	return sum
}
