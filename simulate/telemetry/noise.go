package telemetry

import (
	"math"
	"math/rand/v2"

	"github.com/giverny/giverny/simulate/routing"
)

// noise is what real stall readings have in addition to the modelled stall: a floor
// that varies between channels, slow waves across the fabric, and random scatter of
// each reading.
type noise struct {
	cfg   Config
	rng   *rand.Rand
	floor [2][]float64 // share of time, credit and inq, by channel
	phase [2][]float64 // cosine and sine of the wave's phase, by channel
	now   [2]float64   // sine and cosine of the wave's time
	clock float64      // in wave periods
}

func newNoise(channels *routing.Channels, cfg Config, rng *rand.Rand) noise {
	n := noise{cfg: cfg, rng: rng, clock: rng.Float64()}
	n.phase[0], n.phase[1] = make([]float64, channels.Len()), make([]float64, channels.Len())
	for kind := range n.floor {
		n.floor[kind] = make([]float64, channels.Len())
		for ch := range n.floor[kind] {
			const sigma = .35 // of the logarithm; the mean stays FloorPercent
			n.floor[kind][ch] = cfg.FloorPercent / 100 * math.Exp(sigma*rng.NormFloat64()-sigma*sigma/2)
		}
	}
	for ch := range channels.Len() {
		from, _ := channels.Ends(routing.Channel(ch))
		d := channels.Graph().Device(from)
		phase := float64(from) / float64(channels.Graph().NumDevices())
		if grid := channels.Graph().Grid(); grid != nil && d.Coord != nil {
			phase = 0
			for dim, x := range d.Coord {
				phase += float64(x) / float64(grid.Dims[dim])
			}
		}
		n.phase[1][ch], n.phase[0][ch] = math.Sincos(2 * math.Pi * phase)
	}
	return n
}

func (n *noise) step() {
	n.clock += 1 / n.cfg.WaveIntervals
	n.now[0], n.now[1] = math.Sincos(2 * math.Pi * n.clock)
}

// apply converts a share of time to a reading; kind is 0 for credit, 1 for inq, whose
// wave is the opposite of credit's.
func (n *noise) apply(stall float64, ch, kind int) float64 {
	wave := n.cfg.WavePercent / 100 * float64(1-2*kind) * (n.now[0]*n.phase[0][ch] + n.now[1]*n.phase[1][ch])
	v := stall + (n.floor[kind][ch]+wave)*(1-stall)
	v += n.rng.NormFloat64() * (n.cfg.SpreadPercent/100 + n.cfg.SpreadShare*stall)
	return max(0, min(1, v))
}
