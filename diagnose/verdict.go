package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
)

// verdict is the decision on a region.
type verdict struct {
	class      schema.CauseClass
	confidence float64
	accused    int  // the first so many of the suspects
	blamed     int  // the first so many of the failures near the region
	exchanges  bool // on a grid, load was added all over the exchange of the first accused
}

// odds are those of the causes of a region, against an unknown one.
type odds struct {
	jobs     float64 // of the accused together
	failures float64 // of the likeliest failure: one event often has several lines
	link     float64 // of a link that lost rate
	host     float64 // of a slow host
	over     float64 // of the likeliest failure that is over
	unlisted float64 // of hosts of no listed job
	all      float64 // of these, of the other suspects, and of an unknown cause, which has 1
}

// broken is the odds of failures and of a link that lost rate: they are of one class, and often one thing.
func (o *odds) broken() float64 { return o.failures + o.link }

// decide weighs the causes against each other, and against none of them being right.
func (rc *regionCase) decide() verdict {
	accused := rc.contenders()
	rc.odds = rc.weigh(accused)
	o := &rc.odds
	v := verdict{class: schema.CauseUnknown, confidence: (1 + o.over + o.unlisted) / o.all}
	calibrated, right := causeCalibration, 1.
	switch most := max(o.jobs, o.broken(), o.host); {
	case most < rc.in.cfg.MinConfidence*o.all || most <= 1 || o.unlisted > most:
		calibrated = rc.unknownCalibration()
	case most == o.jobs:
		v.accused, v.confidence = accused, o.jobs/o.all
		v.class, right = rc.classOf(accused)
		v.exchanges = rc.in.graph.Duplex() && rc.loadsExchange(rc.suspects[0].job)
	case most == o.broken():
		v.class, v.confidence, v.blamed = schema.CauseFailure, o.broken()/o.all, rc.blame()
	default:
		v.class, v.confidence = schema.CauseSlowHost, o.host/o.all
	}
	v.confidence = calibrated.of(v.confidence) * right
	return v
}

// weigh finds the odds of the causes, and the blame of each suspect, of whom the first so many are accused.
func (rc *regionCase) weigh(accused int) odds {
	o := odds{all: 1}
	for i := range rc.suspects {
		c := &rc.suspects[i]
		c.blame = math.Exp(c.score)
		o.all += c.blame
	}
	for i := range accused {
		o.jobs += rc.suspects[i].blame
	}
	o.unlisted = o.jobs * rc.rules().unlistedPart(accused)
	o.failures, o.over = rc.failureOdds()
	o.host, o.link = math.Exp(rc.hostScore), math.Exp(rc.linkScore)
	o.all += o.over
	o.all += o.broken() + o.host + o.unlisted
	for i := range rc.suspects {
		rc.suspects[i].blame /= o.all
	}
	return o
}

// blame moves the failures that a region is blamed on to the front, and returns how many these are: none if it is
// blamed on a link that lost rate, and no log explains that.
func (rc *regionCase) blame() (failures int) {
	if o := &rc.odds; o.link >= o.failures || o.link > 1 && rc.passesBy() {
		rc.recallSlowLink()
		return rc.logged(rc.slowLink())
	}
	failures = rc.ofOneEvent()
	slices.SortStableFunc(rc.failures[:failures], func(a, b nearFailure) int { return cmp.Compare(b.share, a.share) })
	return failures
}

// failureOdds is the odds of the likeliest failure, as one event often has several lines, and of the likeliest of those
// that are over: what still stalls does not wait for such a one, unless it left something that is not measured.
func (rc *regionCase) failureOdds() (failures, over float64) {
	for i := range rc.failures {
		if f := &rc.failures[i]; f.over {
			over = max(over, math.Exp(f.score))
		} else {
			failures = max(failures, math.Exp(f.score))
		}
	}
	return failures, over
}

// unknownCalibration is that of an unknown cause.
func (rc *regionCase) unknownCalibration() calibration {
	if rc.isStallOnly() && rc.in.router.Grid != nil {
		return unknownStallOnly
	}
	return unknownCalibration
}

// of is how often a verdict with a probability by the scores is right.
func (c calibration) of(p float64) float64 {
	p = min(.999, max(.001, p))
	return min(mostConfident, logistic(c.offset+c.slope*math.Log(p/(1-p))))
}

// ofOneEvent is how many of the failures near a region belong to the likeliest: one event often has several lines.
func (rc *regionCase) ofOneEvent() int {
	n := 1
	for n < min(len(rc.failures), rc.in.cfg.MaxListed) && rc.failures[n].score >= rc.failures[0].score-sameEvent &&
		(rc.failures[n].silent == nil) == (rc.failures[0].silent == nil) {
		n++
	}
	return n
}

// passesBy reports whether the likeliest failure is neither where a region of directed links ends nor one whose load
// moved there: traffic waits for a link that carries less, not for that failure.
func (rc *regionCase) passesBy() bool {
	return rc.slowLink() != schema.NoLink && len(rc.failures) > 0 && rc.rules().isUnrelated(&rc.failures[0])
}

// isUnrelated reports whether no stall of a region of directed links ends at a failed part, and no load of that moved
// to the root.
func (d directed) isUnrelated(f *nearFailure) bool {
	return f.share == 0 && !slices.Contains(f.Links, d.back.Root.Link) &&
		!slices.Contains(f.Links, d.back.SlowCable()) && d.movedFrom(f.PlacedFailure) == 0 &&
		d.movedAcross(f.PlacedFailure) == 0 && d.carriesForDead(f.PlacedFailure) == 0
}

// sameEvent is the largest difference of score to the first failure within one event.
const sameEvent = .75

// contends is the largest difference of score to the first job for a share of the blame, which mostAccused can have.
const contends, mostAccused = 2., 4

// contenders is how many of the suspects share the blame.
func (rc *regionCase) contenders() (n int) {
	for n < min(len(rc.suspects), mostAccused) {
		if s := rc.suspects[n].score; n > 0 && (s <= 0 || s < rc.suspects[0].score-contends) {
			break
		}
		n++
	}
	return n
}

// slowLink is the link that lost rate, if the region is blamed on one.
func (rc *regionCase) slowLink() schema.LinkID {
	switch {
	case rc.back.Root.Slower:
		return rc.back.Root.Link
	case rc.back.SlowCable() != schema.NoLink:
		return rc.back.SlowCable()
	}
	return rc.ends.bottleneck.Link
}
