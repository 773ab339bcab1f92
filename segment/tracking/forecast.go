package tracking

import (
	"math"

	"github.com/giverny/giverny/schema"
)

// Skill of the forecasts for the next interval, and for LaterIntervals.
func (t *Tracker) Skill() (next, later schema.ForecastSkill) {
	return t.model.next.skill(), t.model.later.skill()
}

// trendSpan is over how many means the trend is taken.
const trendSpan = 4

// pending is a forecast that waits for its outcome.
type pending struct {
	startNanos  int64
	severity    schema.Severity
	mean, trend float64
	context     context
	next, later Odds
}

// context is what a region has in common with those whose fate is known: the
// stretch of its mean between the thresholds of severity, whether the mean rises,
// and how old the region is.
type context struct{ stretch, direction, age uint8 }

// stretches of a mean: narrow near the thresholds 5, 15 and 25.
var stretches = [...]float64{4, 5, 6, 7.5, 10, 12.5, 14, 15, 16, 17.5, 20, 22.5, 24, 25, 26, 28, 32, 40, 60}

const (
	numStretches = len(stretches) + 1
	directions   = 3
	ages         = 3
)

func contextOf(mean, trend float64, age int) (c context) {
	for int(c.stretch) < len(stretches) && mean >= stretches[c.stretch] {
		c.stretch++
	}
	const flat = .5 // percent per interval
	switch {
	case trend < -flat:
		c.direction = 0
	case trend <= flat:
		c.direction = 1
	default:
		c.direction = 2
	}
	switch {
	case age <= 1:
		c.age = 0
	case age <= LaterIntervals:
		c.age = 1
	default:
		c.age = 2
	}
	return c
}

// model learns what becomes of regions.
type model struct{ next, later horizon }

// horizon is the model of one look ahead. It estimates in three steps, each
// the prior of the next: the mean goes on along a damped trend with an error as
// large as it has been, and the region vanishes as often as others of its age;
// then what became of others of its stretch; then of those of its full context.
type horizon struct {
	byStretch [numStretches]outcomes
	byContext [numStretches][directions][ages]outcomes
	byAge     [ages]outcomes

	trendSquares, trendMoves  float64 // sums of trend^2 and trend x move
	errorSquares, transitions float64 // sum of squared errors, and their number

	scored                  uint64
	brierSum, persistentSum float64
}

// outcomes counts what became of regions.
type outcomes [NumStates]uint32

// memory bounds the outcomes of one context; beyond it the older count half.
const memory = 1 << 14

func (o *outcomes) add(s State) {
	o[s]++
	if o.total() > memory {
		for i := range o {
			o[i] /= 2
		}
	}
}

func (o *outcomes) total() (n uint32) {
	for _, v := range o {
		n += v
	}
	return n
}

// blend makes prior the share of each outcome, prior counting as much as weight
// outcomes.
func (o *outcomes) blend(prior *Odds, weight float64) {
	total := float64(o.total()) + weight
	for i := range prior {
		prior[i] = (float64(o[i]) + weight*prior[i]) / total
	}
}

// What is assumed before anything is known, in units of outcomes.
const (
	priorError   = 2.5 // percent, of one move
	priorWeight  = 10
	goneShare    = .15
	stretchPrior = 12
	contextPrior = 12
)

// odds of a region's states.
func (h *horizon) odds(p *pending) Odds {
	damping := h.trendMoves / (h.trendSquares + priorWeight)
	variance := (h.errorSquares + priorWeight*priorError*priorError) / (h.transitions + priorWeight)
	spread := math.Sqrt(3*variance) / math.Pi // of the logistic distribution of that variance
	centre := p.mean + damping*p.trend
	below := func(percent float64) float64 { return 1 / (1 + math.Exp((centre-percent)/spread)) }

	fate := &h.byAge[p.context.age]
	gone := (float64(fate[Gone]) + priorWeight*goneShare) / (float64(fate.total()) + priorWeight)
	under5, under15, under25 := below(5), below(15), below(25)
	odds := Odds{under5, under15 - under5, under25 - under15, 1 - under25}
	for i := range odds[:Gone] {
		odds[i] = max(0, odds[i]) * (1 - gone)
	}
	odds[Gone] = gone
	h.byStretch[p.context.stretch].blend(&odds, stretchPrior)
	h.byContext[p.context.stretch][p.context.direction][p.context.age].blend(&odds, contextPrior)
	return odds
}

// learn takes the outcome of a forecast; mean is the region's now, unless it is
// Gone.
func (h *horizon) learn(p *pending, said *Odds, became State, mean float64) {
	h.scored++
	h.brierSum += brier(said, became)
	if became != State(p.severity) {
		h.persistentSum += 2
	}
	c := p.context
	h.byAge[c.age].add(became)
	h.byStretch[c.stretch].add(became)
	h.byContext[c.stretch][c.direction][c.age].add(became)
	if became == Gone {
		return
	}
	move := mean - p.mean
	miss := move - h.trendMoves/(h.trendSquares+priorWeight)*p.trend
	h.trendSquares += p.trend * p.trend
	h.trendMoves += p.trend * move
	h.errorSquares += miss * miss
	h.transitions++
	if h.transitions > memory {
		h.trendSquares, h.trendMoves, h.errorSquares, h.transitions = h.trendSquares/2, h.trendMoves/2, h.errorSquares/2, h.transitions/2
	}
}

func brier(said *Odds, became State) (sum float64) {
	for s, p := range said {
		if State(s) == became {
			p--
		}
		sum += p * p
	}
	return sum
}

func (h *horizon) skill() schema.ForecastSkill {
	if h.scored == 0 {
		return schema.ForecastSkill{}
	}
	n := float64(h.scored)
	return schema.ForecastSkill{Forecasts: h.scored, Brier: h.brierSum / n, Persistence: h.persistentSum / n}
}

// learn takes what became of a track in an interval, in which the region of that
// index continues it, or none.
func (t *Tracker) learn(tr *track, region int32, interval schema.Interval, regions []schema.Region, steady bool) {
	if !steady { // what was meant to be seen was not
		tr.pending = tr.pending[:0]
		return
	}
	became, mean := Gone, 0.
	if region >= 0 {
		became, mean = State(severityOf(&regions[region])), meanOf(&regions[region])
	}
	done := 0
	for i := range tr.pending {
		p := &tr.pending[i]
		switch (interval.StartNanos - p.startNanos) / interval.DurationNanos {
		case 1:
			t.model.next.learn(p, &p.next, became, mean)
		case LaterIntervals:
			t.model.later.learn(p, &p.later, became, mean)
			done = i + 1
		}
	}
	tr.pending = append(tr.pending[:0], tr.pending[done:]...)
}

// forget learns that a track will not come back.
func (t *Tracker) forget(tr *track) {
	for i := range tr.pending {
		t.model.later.learn(&tr.pending[i], &tr.pending[i].later, Gone, 0)
	}
	tr.pending = tr.pending[:0]
}

// addMean appends to the means over which the trend is taken.
func (tr *track) addMean(mean float64) {
	if tr.numMeans == trendSpan {
		copy(tr.means[:], tr.means[1:])
		tr.numMeans--
	}
	tr.means[tr.numMeans] = mean
	tr.numMeans++
}

// trend is the least squares slope of the last means, percent per interval.
func (tr *track) trend() float64 {
	n := float64(tr.numMeans)
	if n < 2 {
		return 0
	}
	sum := 0.
	for i, v := range tr.means[:tr.numMeans] {
		sum += (float64(i) - (n-1)/2) * v
	}
	return sum * 12 / (n * (n*n - 1))
}
