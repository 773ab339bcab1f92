// Package bench fills a store with months of congestion of a torus the size of Blue Waters,
// with the statistics that Monet (NSDI 2020) publishes, and measures how long the queries
// of store/read take. Its inputs are a seed and numbers of days; it draws the network's
// state over time, and derives the rows from that. It makes no telemetry and runs no
// analysis.
package bench

import (
	"math"
	"math/rand/v2"

	"github.com/giverny/giverny/schema"
)

// Number of links of the torus (24x24x24), and minutes of a day.
const (
	Links        = 41472
	minutesOfDay = 1440
)

// slots is the maximum number of concurrent regions of one metric.
const slots = 6

// networkCourse is the network's Markov transition matrix per minute: it is High for
// 56% of the time and stays so with a probability of 0.87 (section 5.2); the others are
// chosen so that it is Neg for 5%, and falls by one state more often than by two.
var networkCourse = [4][4]float64{
	{.764, .16, .04, .036},
	{.04, .78, .15, .03},
	{.0105, .158, .4895, .342},
	{.0032, .0107, .1161, .87},
}

// regionCourse is the transition matrix of regions other than the network's worst:
// they mostly persist (section 5.1).
var regionCourse = [4][4]float64{
	{0, 1, 0, 0},
	{0, .95, .04, .01},
	{0, .12, .84, .04},
	{0, .05, .15, .8},
}

// sizes of regions by severity: the median is 32 links, the 99th percentiles are as
// published (section 5.1); deviation is of the logarithm, largest the maximum.
var sizes = [4]struct {
	deviation float64
	largest   float64
}{1: {.96, 41168}, 2: {1.13, 6904}, 3: {.817, 2324}}

// segment is a region that keeps its severity, size and mean for some minutes.
type segment struct {
	metric   schema.Metric
	slot     int
	id       uint64
	birth    int // minute
	start    int // minute
	length   int // minutes
	severity schema.Severity
	size     int
	mean     float64
	base     int // its first link
}

// minuteFacts are the values of an interval's row apart from its regions.
type minuteFacts struct {
	moves    map[schema.Transition]uint32
	begin    int // minute at which the ongoing congestion event began, -1: none
	end      int // the minute after its last minute with a High region
	peak     float64
	episodes []episode
}

type episode struct {
	threshold float32
	intervals uint32
	links     uint32
}

// story is everything that is drawn.
type story struct {
	segments []segment
	minutes  []minuteFacts
}

// tell draws a story of a number of days.
func tell(rng *rand.Rand, days int) story {
	n := days * minutesOfDay
	s := story{minutes: make([]minuteFacts, n)}
	for i := range s.minutes {
		s.minutes[i] = minuteFacts{moves: map[schema.Transition]uint32{}, begin: -1, episodes: drawEpisodes(rng)}
	}
	network := make([]schema.Severity, n)
	state := schema.High
	for i := range network {
		state = step(rng, &networkCourse, state)
		network[i] = state
	}
	ids := uint64(1)
	for slot := range 2 * slots {
		metric := []schema.Metric{schema.CreditStall, schema.InqStall}[slot%2]
		for at := 0; at < n; {
			life := min(n-at, lifeOf(rng))
			if slot == 0 { // the network's worst, by credit stall
				s.live(rng, metric, slot, ids, at, life, network, true)
			} else {
				at += int(rng.ExpFloat64() * 300)
				life = min(n-at, life)
				s.live(rng, metric, slot, ids, at, life, network, false)
			}
			ids, at = ids+1, at+max(life, 1)
		}
	}
	s.markCongestion(network)
	return s
}

// lifeOf draws the life of a region in minutes: median 579, 99% within 1,421, at most a day.
func lifeOf(rng *rand.Rand) int {
	return max(1, min(1439, int(579*math.Exp(.386*rng.NormFloat64()))))
}

func step(rng *rand.Rand, course *[4][4]float64, from schema.Severity) schema.Severity {
	u := rng.Float64()
	for to, p := range course[from] {
		if u -= p; u < 0 {
			return schema.Severity(to)
		}
	}
	return from
}

// live draws the life of one region: the network's worst has the network's state and is
// gone while that is Neg; others are never worse than the network.
func (s *story) live(rng *rand.Rand, metric schema.Metric, slot int, id uint64, birth, life int, network []schema.Severity, worst bool) {
	was := schema.Gone
	own := schema.Low
	var open *segment
	base, scale := rng.IntN(Links-8000), rng.NormFloat64()
	for at := birth; at < birth+life; at++ {
		state := network[at]
		if !worst {
			own = step(rng, &regionCourse, own)
			state = min(own, network[at])
		}
		now := schema.RegionState(state)
		if state == schema.Negligible {
			now = schema.Gone
		}
		s.move(metric, was, now, at)
		if open != nil && (now != was || open.length >= 20) {
			s.segments, open = append(s.segments, *open), nil
		}
		if open == nil && now != schema.Gone {
			open = &segment{metric: metric, slot: slot, id: id, birth: birth, start: at, severity: state, size: sizeOf(rng, state, scale), mean: meanOf(rng, state), base: base}
		}
		if open != nil {
			open.length++
			s.minutes[at].peak = max(s.minutes[at].peak, open.mean)
		}
		was = now
	}
	if open != nil {
		s.segments = append(s.segments, *open)
	}
	if end := birth + life; end < len(s.minutes) {
		s.move(metric, was, schema.Gone, end)
	}
}

func (s *story) move(metric schema.Metric, from, to schema.RegionState, at int) {
	if from != schema.Gone || to != schema.Gone {
		s.minutes[at].moves[schema.Transition{Metric: metric, From: from, To: to}]++
	}
}

// sizeOf draws a region's size: the region's own scale with a little noise each time.
func sizeOf(rng *rand.Rand, severity schema.Severity, scale float64) int {
	d := sizes[severity]
	return max(20, int(min(8000, d.largest, 32*math.Exp(d.deviation*(.95*scale+.31*rng.NormFloat64())))))
}

func meanOf(rng *rand.Rand, severity schema.Severity) float64 {
	switch severity {
	case schema.High:
		return min(92, 25+7*rng.ExpFloat64())
	case schema.Medium:
		return 15 + 10*rng.Float64()
	}
	return 5 + 10*rng.Float64()
}

// markCongestion finds the regions congestion events: periods of High, with gaps shorter
// than five minutes bridged.
func (s *story) markCongestion(network []schema.Severity) {
	begin, last := -1, -1
	for at, state := range network {
		switch {
		case state == schema.High && begin < 0:
			begin, last = at, at
		case state == schema.High:
			last = at
		case at-last >= 5:
			begin = -1
		}
		s.minutes[at].begin, s.minutes[at].end = begin, last+1
	}
}

// drawEpisodes draws the links that stop being hot: most after one interval, one
// in a thousand after hours, less often for higher thresholds (figure 3).
func drawEpisodes(rng *rand.Rand) (out []episode) {
	for _, threshold := range []float32{5, 10, 15, 20, 25, 30, 40, 50} {
		for range 2 {
			intervals := uint32(1)
			if rng.Float64() < .05 {
				intervals = uint32(min(1440, math.Pow(rng.Float64(), -1.5*(1.3-float64(threshold)/100))))
			}
			out = append(out, episode{threshold, max(1, intervals), uint32(1 + rng.IntN(5))})
		}
	}
	return out
}
