package routes

import (
	"slices"

	"github.com/giverny/giverny/topology"
)

// site is the hosts of a job that have links to the same switches: one leaf, or one in each rail or plane.
type site struct {
	leaves      []topology.DeviceID
	hosts       float64
	sent, taken []float64 // by leaf: share of all traffic
}

// exchange adds the load of a uniform all-to-all exchange of devices. A host sends by those of its switches that are
// nearest to the other host: each rail or plane has its own ways.
func (t *ShortestPaths) exchange(r *Router, devices []topology.DeviceID) {
	sites, at := t.sitesOf(devices)
	n := float64(len(devices))
	for h := range sites {
		t.gather(r, sites, &sites[h], 1/(n*(n-1)))
	}
	for i, d := range devices {
		if !t.graph.IsSwitch(d) {
			t.addHost(r, d, &sites[at[i]], 1/n)
		}
	}
}

// sitesOf groups devices by their switches, ascending; at is the site of each.
func (t *ShortestPaths) sitesOf(devices []topology.DeviceID) (sites []site, at []int) {
	order := make([]int, len(devices))
	for i := range order {
		order[i] = i
	}
	leaves := func(i int) []topology.DeviceID { return t.leaves[devices[i]] }
	slices.SortStableFunc(order, func(a, b int) int { return slices.Compare(leaves(a), leaves(b)) })
	at = make([]int, len(devices))
	for _, i := range order {
		if len(sites) == 0 || !slices.Equal(sites[len(sites)-1].leaves, leaves(i)) {
			k := len(leaves(i))
			sites = append(sites, site{leaves: leaves(i), sent: make([]float64, k), taken: make([]float64, k)})
		}
		sites[len(sites)-1].hosts++
		at[i] = len(sites) - 1
	}
	return sites, at
}

// gather adds the traffic from all sites to one; unit is that from one host to another.
func (t *ShortestPaths) gather(r *Router, sites []site, to *site, unit float64) {
	dist := t.distancesTo(to.leaves)
	t.order = t.order[:0]
	for i := range sites {
		from := &sites[i]
		hops, ways := unreached, 0.
		for _, leaf := range from.leaves {
			switch d := dist[t.number[leaf]]; {
			case d < hops:
				hops, ways = d, 1
			case d == hops:
				ways++
			}
		}
		if hops == unreached {
			continue
		}
		others := to.hosts
		if from == to {
			others--
		}
		for k, leaf := range from.leaves {
			if dist[t.number[leaf]] == hops {
				share := from.hosts * others * unit / ways
				from.sent[k] += share
				t.put(leaf, share)
			}
		}
	}
	t.lead(r, dist)
	for k, leaf := range to.leaves {
		to.taken[k] = t.flow[leaf]
		t.flow[leaf] = 0
	}
}

// distancesTo returns the hops to the nearest of some leaves by switch number, until the next call.
func (t *ShortestPaths) distancesTo(leaves []topology.DeviceID) []uint8 {
	if len(leaves) == 1 {
		return t.distances(leaves[0])
	}
	t.nearest = append(t.nearest[:0], t.distances(leaves[0])...)
	for _, leaf := range leaves[1:] {
		for at, hops := range t.distances(leaf) {
			t.nearest[at] = min(t.nearest[at], hops)
		}
	}
	return t.nearest
}

// addHost adds the load of a host's own links. What it sends and takes, each a share of all traffic, is divided over
// its switches as that of its site.
func (t *ShortestPaths) addHost(r *Router, d topology.DeviceID, at *site, share float64) {
	for k, leaf := range at.leaves {
		t.addBetween(r, d, leaf, share*partOf(at.sent, k))
		if !t.graph.Duplex() {
			t.addBetween(r, leaf, d, share*partOf(at.taken, k))
		}
	}
}

// addBetween divides load over the links from a device to another.
func (t *ShortestPaths) addBetween(r *Router, from, to topology.DeviceID, share float64) {
	t.between = t.between[:0]
	for _, l := range t.graph.LinksAt(from) {
		if a, b := t.graph.Ends(l); a == from && b == to || t.graph.Duplex() && a == to && b == from {
			t.between = append(t.between, l)
		}
	}
	for _, l := range t.between {
		r.add(l, share/float64(len(t.between)))
	}
}

// partOf is the share of one of some values in their sum; all are equal if that is 0.
func partOf(values []float64, k int) float64 {
	sum := 0.
	for _, v := range values {
		sum += v
	}
	if sum == 0 {
		return 1 / float64(len(values))
	}
	return values[k] / sum
}
