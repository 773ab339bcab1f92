package diagnose

import (
	"maps"
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// meanScores are running means of the scores, log odds, of a region's causes over its last intervals. A cause seldom
// changes between intervals, but scores are noisy: without means, causes that fit equally well would alternate by
// chance.
type meanScores struct {
	jobs                map[string]float64 // by job id, of the suspects of the region's last interval
	failure, host, link float64
	failed              schema.Instant  // time of the likeliest failure
	intervals           float64         // in the means, up to meanIntervals
	seen                int64           // last slot of the region
	bottleneck          root.Bottleneck // the last one that had lost rate
	accused             string          // the job last accused
	// mean part of others in the region, and how many intervals are in it, up to meanIntervals
	others, parts float64
}

const (
	// meanIntervals is the length of the means, in intervals.
	meanIntervals = 4
	// leastScore bounds scores in the means: what is ruled out in one interval may be likely in the next.
	leastScore = -6.
)

// with returns a mean updated with an interval's score. A cause that was not possible recently has no mean.
func (m *meanScores) with(mean, now float64) float64 {
	if m.intervals <= 1 || mean == leastScore && now < leastScore {
		return now
	}
	return mean + (max(leastScore, now)-mean)/m.intervals
}

// smooth replaces the scores of a region's causes by their means, and returns those of a slow host and of a link
// that lost rate. Without an onset, scores are too uncertain to count.
func (rc *regionCase) smooth(host, link float64) (meanHost, meanLink float64) {
	if !rc.timeline.hasOnset() {
		return host, link
	}
	m := rc.in.earlier.means[rc.region.ID]
	if m == nil || rc.in.history.Clock.Now-m.seen > meanIntervals {
		m = &meanScores{jobs: map[string]float64{}}
		rc.in.earlier.means[rc.region.ID] = m
	}
	m.intervals, m.seen = min(meanIntervals, m.intervals+1), rc.in.history.Clock.Now
	m.smoothJobs(rc)
	m.smoothFailures(rc)
	switch {
	case link < leastScore:
	case rc.back.Root.Slower:
		m.bottleneck = root.Bottleneck{Link: rc.back.Root.Link, Slower: true}
	case rc.back.SlowCable() != schema.NoLink:
		m.bottleneck = root.Bottleneck{Link: rc.back.SlowCable(), Slower: true}
	case rc.ends.bottleneck.Slower:
		m.bottleneck = rc.ends.bottleneck
	}
	host, link = m.with(m.host, host), m.with(m.link, link)
	m.host, m.link = max(leastScore, host), max(leastScore, link)
	return host, link
}

// meanPart returns the mean part of jobs other than an accused one in a region, updated with an interval's.
func (rc *regionCase) meanPart(accused *job, part float64) float64 {
	m := rc.in.earlier.means[rc.region.ID]
	if m == nil || !rc.timeline.hasOnset() {
		return part
	}
	if m.accused != accused.ID {
		m.accused, m.parts = accused.ID, 0
	}
	m.parts = min(meanIntervals, m.parts+1)
	m.others += (part - m.others) / m.parts
	return m.others
}

// recallSlowLink restores the last link that had lost rate as the bottleneck of a region that shows none in this
// interval, but is blamed on one by the mean.
func (rc *regionCase) recallSlowLink() {
	if m := rc.in.earlier.means[rc.region.ID]; m != nil && m.bottleneck.Slower && math.IsInf(rc.rateSlowLink(), -1) {
		rc.ends.bottleneck = m.bottleneck
	}
}

// smoothJobs replaces the scores of suspects by their means. A job that is no suspect in an interval loses its mean.
func (m *meanScores) smoothJobs(rc *regionCase) {
	for i := range rc.suspects {
		c := &rc.suspects[i]
		if mean, known := m.jobs[c.job.ID]; known {
			c.score = m.with(mean, c.score)
		}
		m.jobs[c.job.ID] = max(leastScore, c.score)
	}
	if len(m.jobs) > len(rc.suspects) {
		maps.DeleteFunc(m.jobs, func(id string, _ float64) bool {
			return !slices.ContainsFunc(rc.suspects, func(c suspect) bool { return c.job.ID == id })
		})
	}
}

// smoothFailures shifts the scores of all failures near a region by as much as the mean shifts the likeliest; a new
// likeliest failure starts a mean of its own.
func (m *meanScores) smoothFailures(rc *regionCase) {
	if len(rc.failures) == 0 {
		return
	}
	likeliest, shift := &rc.failures[0], 0.
	if m.failed == likeliest.Time {
		shift = m.with(m.failure, likeliest.score) - likeliest.score
	}
	for i := range rc.failures {
		rc.failures[i].score += shift
	}
	m.failure, m.failed = max(leastScore, likeliest.score), likeliest.Time
}
