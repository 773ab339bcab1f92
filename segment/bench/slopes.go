package bench

import (
	"maps"
	"slices"

	"github.com/giverny/giverny/schema"
)

// slopes draws trees whose stall decreases at every hop by a share of traffic, or not at all, and
// uniform all-to-alls: a cross-check of the queues, by a formula that no method inverts.
type slopes struct {
	causes whole
	// varied varies the unknown properties of fabrics between samples: whether stall decreases equally at
	// every hop, whether a flow uses one path or is spread over all, whether two causes add up or the worse
	// one counts, and whether host ports stall in an all-to-all.
	varied bool
}

// spreading is how stall spreads in a sample.
type spreading struct {
	falls      []float64 // by hops from the root; nil: drawn for each cause, equal at every hop
	paths      int       // per flow
	worst      bool      // of two causes only the worse one counts
	portsStall bool      // host ports, in an all-to-all
}

func (p slopes) draw(c *canvas) {
	w := newCrowd(c.g)
	l := &c.layers[0]
	how := spreading{paths: 1}
	if p.varied {
		how = spreading{paths: [...]int{1, 16}[c.rng.Intn(2)], worst: c.rng.Intn(2) == 0, portsStall: c.rng.Intn(2) == 0}
	}
	for range c.count(p.causes) {
		if p.varied {
			how.falls = make([]float64, 12)
			for k := range how.falls {
				how.falls[k] = c.uniform(.4, 1)
			}
		}
		links, stall, root := c.slope(w, how)
		if c.rng.Intn(3) == 0 {
			links, stall, root = c.plateau(w, how)
		}
		if len(links) < minTreeLinks {
			continue
		}
		for i, id := range links {
			if how.worst {
				l.value[id] = max(l.value[id], stall[i])
			} else {
				l.value[id] = min(100, l.value[id]+stall[i])
			}
		}
		l.regions, l.roots = append(l.regions, links), append(l.roots, root)
	}
	if len(l.regions) == 0 {
		p.draw(c)
		return
	}
	c.disturb(l)
}

// slope draws a tree: hosts of some leaves send to one host, and stall decreases by a share per hop from it.
func (c *canvas) slope(w *crowd, how spreading) (links []schema.LinkID, stall []float64, root schema.LinkID) {
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
		for range how.paths {
			path, _ := c.route(w, from, victim, c.rng.Uint64())
			root = w.channels.Link(path[len(path)-1])
			level := top
			for i := len(path) - 1; i >= 0 && level >= schema.LowPercent+1; i-- {
				at[w.channels.Link(path[i])] = level
				if how.falls == nil {
					level *= share
				} else {
					level *= how.falls[len(path)-1-i]
				}
			}
		}
	}
	return listOf(at, root)
}

// plateau draws an all-to-all between neighbouring leaves, with uniform stall.
func (c *canvas) plateau(w *crowd, how spreading) (links []schema.LinkID, stall []float64, root schema.LinkID) {
	leaf := w.leaves[c.rng.Intn(len(w.leaves))]
	hosts := c.neighbourhood(w, leaf, c.between(3, 8))
	at := map[schema.LinkID]float64{}
	level := c.uniform(10, 50)
	for i, h := range hosts {
		for range 6 {
			to := hosts[c.rng.Intn(len(hosts))]
			if w.leafOf[to] == w.leafOf[h] {
				continue
			}
			for range how.paths {
				path, _ := c.route(w, hosts[i], to, c.rng.Uint64())
				if !how.portsStall {
					path = path[:len(path)-1]
				}
				for _, ch := range path {
					at[w.channels.Link(ch)] = level
				}
			}
		}
	}
	links, stall, _ = listOf(at, 0)
	return links, stall, schema.NoLink
}

func listOf(at map[schema.LinkID]float64, root schema.LinkID) (links []schema.LinkID, stall []float64, _ schema.LinkID) {
	links = slices.Sorted(maps.Keys(at))
	for _, id := range links {
		stall = append(stall, at[id])
	}
	return links, stall, root
}
