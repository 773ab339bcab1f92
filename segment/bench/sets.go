package bench

import (
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
)

var torusMetrics = []schema.Metric{schema.CreditStall, schema.InqStall}

const torus24 = "torus:24x24x24"

// Sets lists the families, each with its own difficulty.
func Sets() []Set {
	return []Set{
		{"cube", torus24, torusMetrics, "Monet's Appendix D: 1-8 cuboids that add up, inside the cube, Gaussian noise of 2.5 points",
			func(c *canvas) { c.appendixD(2.5, false) }},
		{"torus", torus24, torusMetrics, "the same with origins anywhere, wrapping",
			func(c *canvas) { c.appendixD(2.5, true) }},
		{"hard", torus24, torusMetrics, "four shapes, touching, with soft edges, slopes and halos; heavy tails, impulses, zeros, gaps", (*canvas).hard},
		{"prod", torus24, torusMetrics, "99.3% of links calm, a few small regions, isolated hot links", (*canvas).prod},
		{"fattree", "fattree:k=16", []schema.Metric{schema.PFCPauseRx(3), schema.PFCPauseTx(3)},
			"three levels of 16-port switches; pauses spread from a slow host up the tree", (*canvas).fatTree},
	}
}

// NoisyCube is the cube at another noise, in percent points.
func NoisyCube(sigma float64) Set {
	return Set{"cube", torus24, torusMetrics, "Appendix D at another noise", func(c *canvas) { c.appendixD(sigma, false) }}
}

// appendixD follows Monet's Appendix D. Values are not clipped there.
func (c *canvas) appendixD(sigma float64, anywhere bool) {
	s := c.space()
	for range c.between(1, 8) {
		size := cell{c.between(3, 9), c.between(3, 9), c.between(3, 9)}
		var origin cell
		for i, n := range s.dims {
			origin[i] = c.rng.Intn(n - size[i] + 1)
			if anywhere {
				origin[i] = c.rng.Intn(n)
			}
		}
		l := c.pick()
		links := s.links(s.moved(cuboid(size), origin))
		level := c.uniform(20, 50)
		for _, id := range links {
			l.value[id] += level
		}
		l.regions = append(l.regions, links)
	}
	for i := range c.layers {
		for id := range c.layers[i].value {
			c.layers[i].value[id] += sigma * c.rng.NormFloat64()
		}
	}
}

// prod looks like a day of Blue Waters: nearly all links calm.
func (c *canvas) prod() {
	s := c.space()
	for i := range c.layers {
		l := &c.layers[i]
		wave := c.waves(s)
		for id := range l.value {
			mean := .8 * (1 + .5*wave(c.cellOf(schema.LinkID(id))))
			for l.value[id] = 5; l.value[id] >= 5; {
				l.value[id] = mean * c.rng.ExpFloat64()
			}
		}
		hot := len(l.value) * 7 / 1000
		taken := map[cell]bool{}
		for range c.between(2, 5) {
			cells := c.freeSpot(s, c.blob(s, c.between(11, 20)), taken, 2)
			links := s.links(cells)
			if c.rng.Intn(2) == 0 {
				links = c.crawl(links[0], c.between(32, 60))
			}
			level := c.uniform(8, 38)
			for _, id := range links {
				l.value[id] = level + (.8+.04*level)*c.rng.NormFloat64()
			}
			l.regions = append(l.regions, links)
			hot -= len(links)
		}
		for hot > 0 {
			hot -= c.tinyCluster(l)
		}
		l.clip()
	}
}

// tinyCluster heats a link, or a few around it, and says how many.
func (c *canvas) tinyCluster(l *layer) int {
	size := 1
	if c.rng.Float64() < .3 {
		size = c.between(2, 8)
	}
	links := []schema.LinkID{schema.LinkID(c.rng.Intn(len(l.value)))}
	for i := 0; len(links) < size; i++ {
		near := c.g.AppendNeighbours(nil, links[c.rng.Intn(len(links))])
		links = append(links, near[c.rng.Intn(len(near))])
	}
	level := c.uniform(6, 40)
	for _, id := range links {
		l.value[id] = level + 1.5*c.rng.NormFloat64()
	}
	return size
}

// crawl grows a set of links from one, link by link across switches.
func (c *canvas) crawl(first schema.LinkID, size int) []schema.LinkID {
	links := []schema.LinkID{first}
	var near []schema.LinkID
	for len(links) < size {
		near = c.g.AppendNeighbours(near[:0], links[c.rng.Intn(len(links))])
		if n := near[c.rng.Intn(len(near))]; !slices.Contains(links, n) {
			links = append(links, n)
		}
	}
	return links
}

// freeSpot moves a shape to where it keeps its distance from what is taken, and
// takes the place. It gives up after many tries and takes the last.
func (c *canvas) freeSpot(s space, shape []cell, taken map[cell]bool, distance int) []cell {
	var placed []cell
	for range 500 {
		placed = s.moved(shape, cell{c.rng.Intn(s.dims[0]), c.rng.Intn(s.dims[1]), c.rng.Intn(s.dims[2])})
		if !c.crowded(s, placed, taken, distance) {
			break
		}
	}
	for _, p := range placed {
		taken[p] = true
	}
	return placed
}

func (c *canvas) crowded(s space, cells []cell, taken map[cell]bool, distance int) bool {
	for _, p := range cells {
		for dz := -distance; dz <= distance; dz++ {
			for dy := -distance; dy <= distance; dy++ {
				for dx := -distance; dx <= distance; dx++ {
					if taken[s.wrap(cell{p[0] + dx, p[1] + dy, p[2] + dz})] {
						return true
					}
				}
			}
		}
	}
	return false
}

// student3 draws from Student's t distribution with 3 degrees of freedom.
func (c *canvas) student3() float64 {
	n := c.rng.NormFloat64()
	chi := 0.
	for range 3 {
		x := c.rng.NormFloat64()
		chi += x * x
	}
	return n / math.Sqrt(chi/3)
}
