package bench

import "github.com/giverny/giverny/schema"

var torusMetrics = []schema.Metric{schema.CreditStall, schema.InqStall}

const (
	torus24 = "torus:24x24x24"
	tree16  = "fattree:k=16"
)

// Sets lists the sets, each with its own difficulty. Sets whose name ends in 2 use the
// same rules with other parameters: a method tuned on the first must not do worse on
// the second.
func Sets() []Set {
	return []Set{
		{"cube", torus24, torusMetrics, "Monet's Appendix D: 1-8 cuboids that add up, inside the cube, Gaussian noise of 2.5 points",
			appendixD(2.5, false).draw},
		{"torus", torus24, torusMetrics, "the same with origins anywhere, wrapping", appendixD(2.5, true).draw},
		{"hard", torus24, torusMetrics, "four shapes, touching, with soft edges, slopes and halos; heavy tails, impulses, zeros, gaps", hard().draw},
		{"prod", torus24, torusMetrics, "99.3% of links calm, a few small regions, isolated hot links", prod().draw},
		{"fattree", tree16, []schema.Metric{schema.PFCPauseRx(3), schema.PFCPauseTx(3)},
			"three levels of 16-port switches; pauses spread from a slow host up the tree", (*canvas).fatTree},
		{"cube2", torus24, torusMetrics, "1-10 cuboids of 2-10 per side at 15-55%, summed or the higher, noise of 2-3 points", cuboids2(false).draw},
		{"torus2", torus24, torusMetrics, "the same with origins anywhere, wrapping", cuboids2(true).draw},
		{"hard2", torus24, torusMetrics, "hard with small regions, steep slopes and high waves", hard2().draw},
		{"hard3", torus24, torusMetrics, "hard2 with edges 1-3 links wide, halos 1-3 links wide and up to 6%, noise of Student's t with 4 degrees", hard3().draw},
		{"prod2", torus24, torusMetrics, "99.5% of links calm, regions of 25-80 links", prod2().draw},
	}
}

// NoisyCube is the cube with another noise, in percent points.
func NoisyCube(sigma float64) Set {
	return Set{"cube", torus24, torusMetrics, "Appendix D at another noise", appendixD(sigma, false).draw}
}

// LargeCube is the cube on another three-dimensional torus with sides of at least 9,
// with the same number of regions per switch.
func LargeCube(topology string) Set {
	return Set{"cube", topology, torusMetrics, "Appendix D on a torus of another size", appendixD(2.5, false).draw}
}

// span is a range of numbers to draw from, inclusive. A span of width 0 consumes
// nothing from the random source.
type span struct{ low, high float64 }

func (c *canvas) from(s span) float64 {
	if s.low == s.high {
		return s.low
	}
	return c.uniform(s.low, s.high)
}

// whole is a range of integers, like span.
type whole struct{ low, high int }

func (c *canvas) count(w whole) int {
	if w.low == w.high {
		return w.low
	}
	return c.between(w.low, w.high)
}
