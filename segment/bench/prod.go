package bench

import (
	"slices"

	"github.com/giverny/giverny/schema"
)

// calmDay resembles a day on Blue Waters: nearly all links are calm.
type calmDay struct {
	hotShare float64 // share of links with stalls of at least 5%
	cells    whole   // of a region that grows by switches
	links    whole   // of a region that grows by links
	percent  span    // of a region
}

func prod() calmDay {
	return calmDay{hotShare: .007, cells: whole{11, 20}, links: whole{32, 60}, percent: span{8, 38}}
}

func prod2() calmDay {
	return calmDay{hotShare: .005, cells: whole{9, 26}, links: whole{25, 80}, percent: span{8, 38}}
}

func (p calmDay) draw(c *canvas) {
	s := c.space()
	for i := range c.layers {
		l := &c.layers[i]
		wave := c.waves(s)
		for id := range l.value {
			mean := .8 * (1 + .5*wave[id/3])
			for l.value[id] = 5; l.value[id] >= 5; {
				l.value[id] = mean * c.rng.ExpFloat64()
			}
		}
		hot := int(p.hotShare * float64(len(l.value)))
		taken := newSpots(s, 2)
		for range c.between(2, 5) {
			links := s.links(c.freeSpot(taken, c.blob(s, c.count(p.cells))))
			if c.rng.Intn(2) == 0 {
				links = c.crawl(links[0], c.count(p.links))
			}
			level := c.from(p.percent)
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

// tinyCluster heats one link or a few adjacent ones, and returns their number.
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

// crawl grows a set from one link, link by link across switches.
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

// freeSpot moves a shape to a position that keeps the distance from the taken cells,
// and takes it. After many attempts it uses the last one.
func (c *canvas) freeSpot(taken *spots, shape []cell) []cell {
	s := taken.space
	var placed []cell
	for range 500 {
		placed = s.moved(shape, cell{c.rng.Intn(s.dims[0]), c.rng.Intn(s.dims[1]), c.rng.Intn(s.dims[2])})
		if !taken.crowd(placed) {
			break
		}
	}
	taken.take(placed, 0)
	return placed
}
