package bench

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/giverny/giverny/search"
)

// counting is what subsystems of loaded units have in common: each counter counts the load of some of the units.
type counting struct {
	description search.Description
	counted     [][]int // by counter: its units; none: a decoy
	noise       float64 // standard deviation of a counter's logarithm
	missing     float64 // share of measurements that lack a counter, for each
	rnd         *rand.Rand
}

// Describe returns the subsystem's description.
func (c *counting) Describe() search.Description { return c.description }

// count adds a counter of units.
func (c *counting) count(name string, units ...int) {
	c.description.Counters = append(c.description.Counters, fmt.Sprint(name, len(c.counted)))
	c.counted = append(c.counted, units)
}

// symptoms of a workload: the share of the throughput that the anomalies leave, their pause in percent, and the share
// of the throughput that the load of the units costs.
type symptoms struct{ share, pause, strain float64 }

// measured returns a measurement. events are those of one unit; decoy draws those of a counter without units.
func (c *counting) measured(s symptoms, decoy func() float64, events func(unit int) float64) search.Measurement {
	m := search.Measurement{Status: search.OK, Seconds: 30, Counters: map[string]float64{}}
	for i, units := range c.counted {
		counted := decoy()
		if len(units) > 0 {
			counted = 0
			for _, k := range units {
				counted += events(k)
			}
			counted *= math.Exp(c.noise * c.rnd.NormFloat64())
		}
		if c.rnd.Float64() >= c.missing {
			m.Counters[c.description.Counters[i]] = counted
		}
	}
	rate := min(s.share, 1-min(largestLoss, s.strain)) * (1 + rateNoise*c.rnd.NormFloat64()) * c.description.LineRateGbps
	m.Directions = []search.Direction{{Gbps: rate, Mpps: rate / 8, SizeBytes: 1000}}
	m.TxPausePercent = []float64{0, s.pause * math.Exp(.1*c.rnd.NormFloat64())}
	return m
}
