package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// verdict is the decision on a region.
type verdict struct {
	class      schema.CauseClass
	confidence float64
	accused    int // the first so many of rc.jobs
	blamed     int // the first so many of rc.failures
}

// decide weighs the causes against each other, and against none of them being right.
func (s *Stage) decide(rc *regionCase, p *root.Pressure) verdict {
	s.findEmpty(rc)
	for i := range rc.jobs {
		s.rate(rc, &rc.jobs[i], p)
	}
	slow, lost := s.smooth(rc, s.slowHostScore(rc), s.slowLinkScore(rc))
	slices.SortFunc(rc.jobs, func(a, b suspect) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.job.ID, b.job.ID), cmp.Compare(a.job.Start, b.job.Start))
	})
	sum := 1. // unknown
	for i := range rc.jobs {
		rc.jobs[i].blame = math.Exp(rc.jobs[i].score)
		sum += rc.jobs[i].blame
	}
	jobs, others, accused := 0., 0., s.accused(rc)
	for i := range accused {
		jobs += rc.jobs[i].blame
		others += math.Exp(rc.jobs[i].score - min(0, rc.jobs[i].sends)) // that others send more counts against it only
	}
	rc.unlisted = others * s.unlisted(rc, accused, p)
	failures, over := 0., 0. // one event often has several lines
	for i := range rc.failures {
		if f := &rc.failures[i]; f.over { // what still stalls does not wait for it, unless it left something that is not measured
			over = max(over, math.Exp(f.score))
		} else {
			failures = max(failures, math.Exp(f.score))
		}
	}
	sum += over
	host, link := math.Exp(slow), math.Exp(lost)
	broken := failures + link // of one class, and often of one thing
	sum += broken + host + rc.unlisted
	for i := range rc.jobs {
		rc.jobs[i].blame /= sum
	}
	v := verdict{class: schema.CauseUnknown, confidence: (1 + over + rc.unlisted) / sum}
	calibrated, right := causeCalibration, 1.
	switch most := max(jobs, broken, host); {
	case rc.unlisted > max(most, 1): // known to exist, only its name is not
	case most < s.cfg.MinConfidence*sum || most <= 1 || rc.unlisted > most:
		if calibrated = unknownCalibration; s.graph.Duplex() && s.router.Grid != nil {
			calibrated = unknownOnGrids
		}
	case most == jobs:
		v.accused = accused
		rc.jobs[0].exchanges = s.graph.Duplex() && s.loadsExchange(rc.jobs[0].job, p)
		v.confidence = jobs / sum
		v.class, right = s.classOf(rc, accused, p)
	case most == broken && link >= failures:
		s.recallSlowLink(rc)
		v.class, v.confidence, v.blamed = schema.CauseFailure, broken/sum, s.logged(rc, rc.slowLink())
	case most == broken:
		v.class, v.confidence, v.blamed = schema.CauseFailure, broken/sum, s.blamed(rc)
		slices.SortStableFunc(rc.failures[:v.blamed], func(a, b nearFailure) int { return cmp.Compare(b.share, a.share) })
	default:
		v.class, v.confidence = schema.CauseSlowHost, host/sum
	}
	v.confidence = calibrated.of(v.confidence) * right
	return v
}

// calibration maps a probability by the scores to how often it is right: a logistic regression on its log odds.
type calibration struct{ slope, offset float64 }

// Verdicts that name a cause are right more often than the scores say, as fitted on the training seeds of incidents (package bench).
// Verdicts of an unknown cause are right less often, as fitted in two other simulators: the scores' zero assumes that a culprit
// missing from all tables is as common as any other, and of two equally likely causes one is right. On grids they are right less
// depending on that, as fitted in three others: no port shows who sends, so a culprit in no table looks like several suspects.
var (
	causeCalibration   = calibration{slope: 1, offset: .9}
	unknownCalibration = calibration{slope: 1.6, offset: -2.3}
	unknownOnGrids     = calibration{slope: .8, offset: -1}
)

// mostConfident bounds confidence: even on the incidents of package bench, one in a hundred of the verdicts with the most evidence
// is wrong.
const mostConfident = .99

func (c calibration) of(p float64) float64 {
	p = min(.999, max(.001, p))
	return min(mostConfident, logistic(c.offset+c.slope*math.Log(p/(1-p))))
}

// blamed is how many of the failures near a region are listed: one event often has several lines.
func (s *Stage) blamed(rc *regionCase) int {
	n := 1
	for n < min(len(rc.failures), s.cfg.MaxListed) && rc.failures[n].score >= rc.failures[0].score-sameEvent && (rc.failures[n].silent == nil) == (rc.failures[0].silent == nil) {
		n++
	}
	return n
}

// sameEvent is the largest difference of score to the first failure within one event.
const sameEvent = .75

// contends is the largest difference of score to the first job for a share of the blame.
const contends = 1.5

// accused is how many of the suspects share the blame.
func (s *Stage) accused(rc *regionCase) int {
	if len(rc.jobs) == 0 {
		return 0
	}
	n := 1
	for n < min(len(rc.jobs), 4) && rc.jobs[n].score > 0 && rc.jobs[n].score >= rc.jobs[0].score-contends {
		n++
	}
	return n
}

// slowLink is the link that lost rate, if the region is blamed on one.
func (rc *regionCase) slowLink() schema.LinkID {
	if rc.back.Slower {
		return rc.back.Link
	}
	return rc.neck.Link
}
