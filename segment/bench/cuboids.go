package bench

// cuboids are boxes of uniformly stalled links, with Gaussian noise.
type cuboids struct {
	number  whole // per 24x24x24 switches
	side    whole
	percent span
	sigma   span // percent points
	// anywhere allows boxes to wrap around; otherwise they lie inside the cube.
	anywhere bool
	// mayCover: in half of the samples the higher stall counts where boxes overlap;
	// otherwise stalls add up.
	mayCover bool
}

// appendixD follows Monet's Appendix D, in which values are not clipped.
func appendixD(sigma float64, anywhere bool) cuboids {
	return cuboids{number: whole{1, 8}, side: whole{3, 9}, percent: span{20, 50}, sigma: span{sigma, sigma}, anywhere: anywhere}
}

func cuboids2(anywhere bool) cuboids {
	return cuboids{number: whole{1, 10}, side: whole{2, 10}, percent: span{15, 55}, sigma: span{2, 3}, anywhere: anywhere, mayCover: true}
}

const switches24 = 24 * 24 * 24

func (p cuboids) draw(c *canvas) {
	s := c.space()
	cover := p.mayCover && c.rng.Intn(2) == 0
	for range max(1, c.count(p.number)*s.cells()/switches24) {
		size := cell{c.count(p.side), c.count(p.side), c.count(p.side)}
		var origin cell
		for i, n := range s.dims {
			origin[i] = c.rng.Intn(n - size[i] + 1)
			if p.anywhere {
				origin[i] = c.rng.Intn(n)
			}
		}
		l := c.pick()
		links := s.links(s.moved(cuboid(size), origin))
		percent := c.from(p.percent)
		for _, id := range links {
			if cover {
				l.value[id] = max(l.value[id], percent)
			} else {
				l.value[id] += percent
			}
		}
		l.regions = append(l.regions, links)
	}
	for i := range c.layers {
		sigma := c.from(p.sigma)
		for id := range c.layers[i].value {
			c.layers[i].value[id] += sigma * c.rng.NormFloat64()
		}
	}
}
