package tracking

import (
	"math"

	"github.com/giverny/giverny/schema"
)

// Skill returns the skill of the forecasts for the next interval, and for LaterIntervals.
func (t *Tracker) Skill() (next, later schema.ForecastSkill) {
	return t.model.next.skill(), t.model.later.skill()
}

// trendSpan is the number of means used for the trend.
const trendSpan = 4

// pending is a forecast whose outcome is not known yet.
type pending struct {
	startNanos  int64
	severity    schema.Severity
	mean, trend float64
	bucket      forecastBucket
	next, later schema.Odds
}

// forecastBucket is what predicts a region's fate: the bin of its mean, whether the
// mean rises, and the region's age.
type forecastBucket struct{ meanBin, direction, age uint8 }

// meanBins are the upper bounds of the bins of means, narrow near the severity thresholds.
var meanBins = [...]float64{4, schema.LowPercent, 6, 7.5, 10, 12.5, 14, schema.MediumPercent, 16, 17.5, 20, 22.5, 24, schema.HighPercent, 26, 28, 32, 40, 60}

const (
	numMeanBins = len(meanBins) + 1
	directions  = 3
	ages        = 3
)

func bucketOf(mean, trend float64, age int) (b forecastBucket) {
	for int(b.meanBin) < len(meanBins) && mean >= meanBins[b.meanBin] {
		b.meanBin++
	}
	const flat = .5 // percent per interval
	switch {
	case trend < -flat:
		b.direction = 0
	case trend <= flat:
		b.direction = 1
	default:
		b.direction = 2
	}
	switch {
	case age <= 1:
		b.age = 0
	case age <= schema.LaterIntervals:
		b.age = 1
	default:
		b.age = 2
	}
	return b
}

// model learns how regions develop.
type model struct{ next, later leadTime }

// leadTime is the model of one lead time. It estimates in three steps, each the
// (Dirichlet) prior of the next: first the mean follows a damped trend (Gardner and
// McKenzie, Manage. Sci. 31, 1985) with the past error, and the region ends as often as
// others of its age; then the outcomes of others in its bin of means; then the outcomes
// of others in its whole bucket.
type leadTime struct {
	byMeanBin [numMeanBins]outcomes
	byBucket  [numMeanBins][directions][ages]outcomes
	byAge     [ages]outcomes

	trendSquares, trendMoves  float64 // sums of trend^2 and trend x move
	errorSquares, transitions float64 // sum of squared errors, number of errors

	scored                  uint64
	brierSum, persistentSum float64
}

// outcomes counts the outcomes of regions.
type outcomes [schema.NumStates]uint32

// maxSamples bounds the outcomes of one bucket; beyond it the counts are halved.
const maxSamples = 1 << 14

func (o *outcomes) add(s schema.RegionState) {
	o[s]++
	if o.total() > maxSamples {
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

// blend updates prior with the outcome shares; prior counts as much as weight outcomes.
func (o *outcomes) blend(prior *schema.Odds, weight float64) {
	total := float64(o.total()) + weight
	for i := range prior {
		prior[i] = (float64(o[i]) + weight*prior[i]) / total
	}
}

// Prior assumptions, in units of outcomes.
const (
	priorError   = 2.5 // percent, of one move
	priorWeight  = 10
	goneShare    = .15
	meanBinPrior = 12
	bucketPrior  = 12
)

// odds returns the probabilities of a region's states.
func (l *leadTime) odds(p *pending) schema.Odds {
	damping := l.trendMoves / (l.trendSquares + priorWeight)
	variance := (l.errorSquares + priorWeight*priorError*priorError) / (l.transitions + priorWeight)
	spread := math.Sqrt(3*variance) / math.Pi // scale of the logistic distribution with that variance
	centre := p.mean + damping*p.trend
	below := func(percent float64) float64 { return 1 / (1 + math.Exp((centre-percent)/spread)) }

	fate := &l.byAge[p.bucket.age]
	gone := (float64(fate[schema.Gone]) + priorWeight*goneShare) / (float64(fate.total()) + priorWeight)
	underLow, underMedium, underHigh := below(schema.LowPercent), below(schema.MediumPercent), below(schema.HighPercent)
	odds := schema.Odds{underLow, underMedium - underLow, underHigh - underMedium, 1 - underHigh}
	for i := range odds[:schema.Gone] {
		odds[i] = max(0, odds[i]) * (1 - gone)
	}
	odds[schema.Gone] = gone
	l.byMeanBin[p.bucket.meanBin].blend(&odds, meanBinPrior)
	l.byBucket[p.bucket.meanBin][p.bucket.direction][p.bucket.age].blend(&odds, bucketPrior)
	return odds
}

// learn records the outcome of a forecast; mean is the region's current one, unless it
// is schema.Gone.
func (l *leadTime) learn(p *pending, forecast *schema.Odds, became schema.RegionState, mean float64) {
	l.scored++
	l.brierSum += brier(forecast, became)
	if became != schema.RegionState(p.severity) {
		l.persistentSum += 2
	}
	b := p.bucket
	l.byAge[b.age].add(became)
	l.byMeanBin[b.meanBin].add(became)
	l.byBucket[b.meanBin][b.direction][b.age].add(became)
	if became == schema.Gone {
		return
	}
	move := mean - p.mean
	miss := move - l.trendMoves/(l.trendSquares+priorWeight)*p.trend
	l.trendSquares += p.trend * p.trend
	l.trendMoves += p.trend * move
	l.errorSquares += miss * miss
	l.transitions++
	if l.transitions > maxSamples {
		l.trendSquares, l.trendMoves, l.errorSquares, l.transitions = l.trendSquares/2, l.trendMoves/2, l.errorSquares/2, l.transitions/2
	}
}

// brier is the Brier score of a forecast: the squared distance from the outcome.
func brier(forecast *schema.Odds, became schema.RegionState) (sum float64) {
	for s, p := range forecast {
		if schema.RegionState(s) == became {
			p--
		}
		sum += p * p
	}
	return sum
}

func (l *leadTime) skill() schema.ForecastSkill {
	if l.scored == 0 {
		return schema.ForecastSkill{}
	}
	n := float64(l.scored)
	return schema.ForecastSkill{Forecasts: l.scored, Brier: l.brierSum / n, Persistence: l.persistentSum / n}
}

// learn records the outcome of a track's forecasts in an interval; region is the index
// of the region that continues it, or none.
func (t *Tracker) learn(tr *track, region int32, interval schema.Interval, regions []schema.Region, steady bool) {
	if !steady { // the forecast intervals were not observed
		tr.pending = tr.pending[:0]
		return
	}
	became, mean := schema.Gone, 0.
	if region >= 0 {
		became, mean = schema.RegionState(severityOf(&regions[region])), meanOf(&regions[region])
	}
	done := 0
	for i := range tr.pending {
		p := &tr.pending[i]
		switch (interval.StartNanos - p.startNanos) / interval.DurationNanos {
		case 1:
			t.model.next.learn(p, &p.next, became, mean)
		case schema.LaterIntervals:
			t.model.later.learn(p, &p.later, became, mean)
			done = i + 1
		}
	}
	tr.pending = append(tr.pending[:0], tr.pending[done:]...)
}

// learnGone records that a track has ended.
func (t *Tracker) learnGone(tr *track) {
	for i := range tr.pending {
		t.model.later.learn(&tr.pending[i], &tr.pending[i].later, schema.Gone, 0)
	}
	tr.pending = tr.pending[:0]
}

// addMean appends a mean for the trend.
func (tr *track) addMean(mean float64) {
	if tr.numMeans == trendSpan {
		copy(tr.means[:], tr.means[1:])
		tr.numMeans--
	}
	tr.means[tr.numMeans] = mean
	tr.numMeans++
}

// trend is the least-squares slope of the last means, in percent per interval.
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
