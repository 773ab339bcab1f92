package bench

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// slopes draws trees whose stall falls at every hop by a share of traffic, or not at all, and level
// all-to-alls: a cross-check on the queues, by a formula that no method here inverts.
type slopes struct{ causes whole }

func (p slopes) draw(c *canvas) {
	w := newCrowd(c.g)
	l := &c.layers[0]
	for range c.count(p.causes) {
		links, stall, root := c.slope(w)
		if c.rng.Intn(3) == 0 {
			links, stall, root = c.plateau(w)
		}
		if len(links) < minTreeLinks {
			continue
		}
		for i, id := range links {
			l.value[id] = min(100, l.value[id]+stall[i])
		}
		l.regions, l.roots = append(l.regions, links), append(l.roots, root)
	}
	if len(l.regions) == 0 {
		p.draw(c)
		return
	}
	c.disturb(l)
}

// slope is a tree: hosts of some leaves send to one, stall falls by a share per hop of distance from it.
func (c *canvas) slope(w *crowd) (links []schema.LinkID, stall []float64, root schema.LinkID) {
	leaf := w.leaves[c.rng.Intn(len(w.leaves))]
	hosts := c.neighbourhood(w, leaf, [...]int{1, 4, 8, 16}[c.rng.Intn(4)])
	victim := w.hostsAt[leaf][c.rng.Intn(len(w.hostsAt[leaf]))]
	share := [...]float64{1, .8, .6, .45}[c.rng.Intn(4)]
	top := c.uniform(15, 75)
	at := map[schema.LinkID]float64{}
	for range c.between(8, 60) {
		from := hosts[c.rng.Intn(len(hosts))]
		if from == victim {
			continue
		}
		path, _ := c.route(w, from, victim, c.rng.Uint64())
		root = w.channels.Link(path[len(path)-1])
		level := top
		for i := len(path) - 1; i >= 0 && level >= schema.LowPercent+1; i-- {
			at[w.channels.Link(path[i])] = level
			level *= share
		}
	}
	return listOf(at, root)
}

// plateau is an all-to-all between neighbouring leaves, level throughout.
func (c *canvas) plateau(w *crowd) (links []schema.LinkID, stall []float64, root schema.LinkID) {
	leaf := w.leaves[c.rng.Intn(len(w.leaves))]
	inside := map[topology.DeviceID]bool{}
	hosts := c.neighbourhood(w, leaf, c.between(3, 8))
	for _, h := range hosts {
		inside[w.leafOf[h]] = true
	}
	at := map[schema.LinkID]float64{}
	level := c.uniform(10, 50)
	for i, h := range hosts {
		for range 6 {
			to := hosts[c.rng.Intn(len(hosts))]
			if w.leafOf[to] == w.leafOf[h] {
				continue
			}
			path, _ := c.route(w, hosts[i], to, c.rng.Uint64())
			for _, ch := range path[:len(path)-1] {
				at[w.channels.Link(ch)] = level
			}
		}
	}
	links, stall, _ = listOf(at, 0)
	return links, stall, schema.NoLink
}

func listOf(at map[schema.LinkID]float64, root schema.LinkID) (links []schema.LinkID, stall []float64, _ schema.LinkID) {
	for id := range at {
		links = append(links, id)
	}
	slices.Sort(links)
	for _, id := range links {
		stall = append(stall, at[id])
	}
	return links, stall, root
}
