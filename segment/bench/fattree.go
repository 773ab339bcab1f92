package bench

import (
	"math/rand"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// fatTree draws pauses that spread as by priority flow control: a slow host pauses its
// leaf, the leaf pauses its senders, and some aggregation switches pause their senders.
func (c *canvas) fatTree() {
	for i := range c.layers {
		for id := range c.layers[i].value {
			c.layers[i].value[id] = .4 * c.rng.ExpFloat64()
		}
	}
	for range c.between(1, 6) {
		l := c.pick()
		links := c.pauseTree()
		level := c.uniform(10, 60)
		for _, id := range links {
			if l.value[id] > 5 { // two trees that meet are inseparable: draw another
				links = nil
				break
			}
		}
		if links == nil {
			continue
		}
		for _, id := range links {
			l.value[id] = level + (.8+.04*level)*c.rng.NormFloat64()
		}
		l.regions = append(l.regions, links)
	}
	for i := range c.layers {
		l := &c.layers[i]
		for range len(l.value) / 50 {
			l.missing.Set(c.rng.Intn(len(l.value)))
		}
		for range 10 {
			l.value[c.rng.Intn(len(l.value))] = c.uniform(5, 60)
		}
		l.clip()
	}
}

// pauseTree returns the links of a random tree of pauses, root first.
func (c *canvas) pauseTree() []schema.LinkID {
	hosts := c.g.Hosts()
	host := hosts[c.rng.Intn(len(hosts))]
	links := c.into(host, -1)
	leaf, _ := c.g.Ends(links[0])
	links = append(links, c.into(leaf, int(host))...)
	var above []topology.DeviceID
	for _, id := range links {
		if from, _ := c.g.Ends(id); c.g.IsSwitch(from) && from != leaf {
			above = append(above, from)
		}
	}
	shuffle(c.rng, above)
	for _, a := range above[:c.between(1, 1+len(above)/2)] {
		links = append(links, c.into(a, int(leaf))...)
	}
	slices.Sort(links)
	return slices.Compact(links)
}

// into lists the links into a device, except from one device.
func (c *canvas) into(d topology.DeviceID, except int) []schema.LinkID {
	return slices.DeleteFunc(slices.Clone(c.g.LinksAt(d)), func(id schema.LinkID) bool {
		from, to := c.g.Ends(id)
		return to != d || int(from) == except
	})
}

func shuffle[T any](rng *rand.Rand, s []T) {
	rng.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
}
