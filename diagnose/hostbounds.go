package diagnose

import (
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// bound is the upper bound of a job's load on a link, bytes/s, from the load of its own hosts' links.
type bound struct {
	recent, baseline float64
	added            float64 // what was added to those of the hosts' links that carry more than before
	known            bool    // the hosts' links are measured
	links, read      int     // how many of the hosts' links count, and how many of them have readings
}

// boundOn bounds a job's load on a link. A job has no traffic of its own on a link to another's host.
func (rc *regionCase) boundOn(j *job, l schema.LinkID, withFiles bool) bound {
	b := rc.boundOf(j.Devices, l, withFiles)
	b.known = b.known && rc.in.measuresHosts(j)
	return b
}

// boundOf sums what hosts send from which shortest paths lead over a link, and what hosts take in to which they lead.
// Traffic between them is at most the lesser of the two; file traffic has one of its ends elsewhere.
func (rc *regionCase) boundOf(hosts []topology.DeviceID, l schema.LinkID, withFiles bool) bound {
	paths := rc.in.router.Paths
	if paths == nil || rc.in.graph.Duplex() || l == schema.NoLink {
		return bound{}
	}
	if slices.ContainsFunc(hosts, rc.in.graph.IsSwitch) {
		return bound{}
	}
	from, to := rc.in.graph.Ends(l)
	isOthers := func(d topology.DeviceID) bool { return !rc.in.graph.IsSwitch(d) && !slices.Contains(hosts, d) }
	if !withFiles && (isOthers(from) || isOthers(to)) {
		return bound{known: true} // none of the traffic between them
	}
	var sent, taken bound
	for _, d := range hosts {
		leaf := rc.in.router.LeafOf(d)
		sends := from == d || rc.in.graph.IsSwitch(from) && leaf != to && to != d && paths.LeadFrom(leaf, l)
		takes := to == d || rc.in.graph.IsSwitch(to) && from != d && (!rc.in.graph.IsSwitch(from) || paths.LeadTo(leaf, l))
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
	sent.open()
	taken.open()
	if withFiles {
		return bound{recent: max(sent.recent, taken.recent), baseline: max(sent.baseline, taken.baseline),
			added: max(sent.added, taken.added), known: true}
	}
	return bound{recent: min(sent.recent, taken.recent), baseline: min(sent.baseline, taken.baseline),
		added: min(sent.added, taken.added), known: true}
}

// open removes a bound of which no link has readings: where only switches report, what hosts send is not counted.
func (b *bound) open() {
	if b.links > 0 && b.read == 0 {
		b.recent, b.baseline, b.added = math.Inf(1), math.Inf(1), math.Inf(1)
	}
}

// add adds the load of a host's link, in the interval and before the onset.
func (b *bound) add(use, baseline percent, capacity float64) {
	c := capacity / 100
	if b.links++; use.known {
		b.read++
	}
	b.recent += use.orZero() * c
	b.baseline += baseline.orZero() * c
	if baseline.known {
		b.added += max(0, use.orZero()-baseline.of) * c
	}
}

// measuresHosts reports whether most links of a job's hosts have load readings, which account for what the job is
// reported to have moved: each byte is sent or received by one of them. It is computed once per interval.
func (in *interval) measuresHosts(j *job) bool {
	if j.hostsMeasured.known {
		return j.hostsMeasured.hosts
	}
	measured, all, carried := 0, 0, 0.
	for _, d := range j.Devices {
		for _, l := range in.graph.LinksAt(d) {
			all++
			if use := in.use(l); use.known {
				measured++
				carried += use.of / 100 * in.graph.Capacity(l)
			}
		}
	}
	moved, _ := in.recentOf(j)
	j.hostsMeasured = measuredHosts{true, all > 0 && float64(measured) >= mostLinks*float64(all) &&
		carried*float64(in.history.Clock.Duration)/1e9 >= leastSeen*moved}
	return j.hostsMeasured.hosts
}

// measuredHosts caches whether a job's hosts are measured in the interval.
type measuredHosts struct{ known, hosts bool }

// mostLinks is the share of a job's host links that must be measured to bound its traffic, leastSeen the share of
// its reported traffic that they must have carried.
const mostLinks, leastSeen = .9, .5
