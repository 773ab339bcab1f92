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
	accused    int // the first so many of rc.jobs
	blamed     int // the first so many of rc.failures
}

// decision weighs the scores of the causes of a region.
type decision struct{ *regionCase }

func (rc *regionCase) decision() decision { return decision{rc} }

// decide weighs the causes against each other, and against none of them being right.
func (d decision) decide() verdict {
	for i := range d.suspects {
		c := &d.suspects[i]
		c.score, c.sends = d.scores().rate(c)
	}
	slow, lost := d.steady().smooth(d.scores().slowHostScore(), d.scores().slowLinkScore())
	slices.SortFunc(d.suspects, func(a, b suspect) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.job.ID, b.job.ID),
			cmp.Compare(a.job.Start, b.job.Start))
	})
	sum := 1. // unknown
	for i := range d.suspects {
		d.suspects[i].blame = math.Exp(d.suspects[i].score)
		sum += d.suspects[i].blame
	}
	jobs, others, accused := 0., 0., d.accused()
	for i := range accused {
		jobs += d.suspects[i].blame
		// that others send more counts against it only
		others += math.Exp(d.suspects[i].score - min(0, d.suspects[i].sends))
	}
	d.unlisted = others * d.ground().unlistedPart(accused)
	failures, over := d.failureOdds()
	sum += over
	host, link := math.Exp(slow), math.Exp(lost)
	broken := failures + link // of one class, and often of one thing
	sum += broken + host + d.unlisted
	for i := range d.suspects {
		d.suspects[i].blame /= sum
	}
	v := verdict{class: schema.CauseUnknown, confidence: (1 + over + d.unlisted) / sum}
	calibrated, right := causeCalibration, 1.
	switch most := max(jobs, broken, host); {
	case most < d.in.cfg.MinConfidence*sum || most <= 1 || d.unlisted > most:
		calibrated = d.unknownCalibration()
	case most == jobs:
		v.accused = accused
		d.suspects[0].exchanges = d.ground().exchanges(d.suspects[0].job)
		v.confidence = jobs / sum
		v.class, right = d.classOf(accused)
	case most == broken && (link >= failures || link > 1 && d.passesBy()):
		d.steady().recallSlowLink()
		v.class, v.confidence, v.blamed = schema.CauseFailure, broken/sum, d.logged(d.slowLink())
	case most == broken:
		v.class, v.confidence, v.blamed = schema.CauseFailure, broken/sum, d.blamed()
		slices.SortStableFunc(d.failures[:v.blamed], func(a, b nearFailure) int {
			return cmp.Compare(b.share, a.share)
		})
	default:
		v.class, v.confidence = schema.CauseSlowHost, host/sum
	}
	v.confidence = calibrated.of(v.confidence) * right
	return v
}

// failureOdds is the odds of the likeliest failure, as one event often has several lines, and of the likeliest of those
// that are over: what still stalls does not wait for such a one, unless it left something that is not measured.
func (d decision) failureOdds() (failures, over float64) {
	for i := range d.failures {
		if f := &d.failures[i]; f.over {
			over = max(over, math.Exp(f.score))
		} else {
			failures = max(failures, math.Exp(f.score))
		}
	}
	return failures, over
}

// unknownCalibration is that of an unknown cause.
func (d decision) unknownCalibration() calibration {
	if d.isStallOnly() && d.in.router.Grid != nil {
		return unknownUnread
	}
	return unknownCalibration
}

func (c calibration) of(p float64) float64 {
	p = min(.999, max(.001, p))
	return min(mostConfident, logistic(c.offset+c.slope*math.Log(p/(1-p))))
}

// blamed is how many of the failures near a region are listed: one event often has several lines.
func (d decision) blamed() int {
	n := 1
	for n < min(len(d.failures), d.in.cfg.MaxListed) && d.failures[n].score >= d.failures[0].score-sameEvent &&
		(d.failures[n].silent == nil) == (d.failures[0].silent == nil) {
		n++
	}
	return n
}

// passesBy reports whether the likeliest failure is neither where a region of directed links ends nor one whose load
// moved there: traffic waits for a link that carries less, not for that failure.
func (d decision) passesBy() bool {
	return d.back.Root.Slower && len(d.failures) > 0 && d.ground().isUnrelated(&d.failures[0])
}

// isUnrelated reports whether no stall of a region of directed links ends at a failed part, and no load of that moved
// to the root.
func (d directed) isUnrelated(f *nearFailure) bool {
	return f.share == 0 && !slices.Contains(f.Links, d.back.Root.Link) && d.scores().movedFrom(f.PlacedFailure) == 0
}

// sameEvent is the largest difference of score to the first failure within one event.
const sameEvent = .75

// contends is the largest difference of score to the first job for a share of the blame.
const contends = 2.

// accused is how many of the suspects share the blame.
func (d decision) accused() int {
	if len(d.suspects) == 0 {
		return 0
	}
	n := 1
	for n < min(len(d.suspects), 4) && d.suspects[n].score > 0 && d.suspects[n].score >= d.suspects[0].score-contends {
		n++
	}
	return n
}

// slowLink is the link that lost rate, if the region is blamed on one.
func (rc *regionCase) slowLink() schema.LinkID {
	if rc.back.Root.Slower {
		return rc.back.Root.Link
	}
	return rc.ends.neck.Link
}
