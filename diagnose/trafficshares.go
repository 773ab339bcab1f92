package diagnose

import (
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
)

// shareTraffic divides the region's traffic among the jobs, by each one's recent traffic times the share that its
// routes put on the region, and likewise the load added since the onset. The links' measured load bounds the shares:
// traffic that no known job explains belongs to none.
func (rc *regionCase) shareTraffic() {
	sum, grown, baselineSum := 0., 0., 0.
	for i := range rc.suspects {
		c := &rc.suspects[i]
		weigh := func(v volume) float64 { return (c.linksPerByte+.5*c.gate)*v.all + .5*c.way*v.files }
		c.share = weigh(rc.in.recentOf(c.job))
		baselineWeight := weigh(rc.baselineOf(c.job))
		c.growth = max(0, c.share-baselineWeight)
		c.grew = c.growth / max(1, baselineWeight)
		sum, grown, baselineSum = sum+c.share, grown+c.growth, baselineSum+baselineWeight
	}
	carried, added := rc.carriedOn(rc.region.Links)
	if !rc.in.comparable {
		carried, added = 0, 0
	}
	interval := float64(rc.in.history.Clock.Duration) / 1e9
	sum, grown = max(sum, leastExplained*carried*interval), max(grown, leastExplained*added*interval)
	for i := range rc.suspects {
		c := &rc.suspects[i]
		if c.share > 0 {
			c.share /= sum
		}
		switch {
		case !rc.timeline.hasOnset() || grown <= leastGrowth*baselineSum:
			c.growth = 0
		case c.growth > 0:
			c.growth /= grown
		}
	}
}

// leastExplained is the minimum share of the measured load that the jobs' shares are scaled to: if the known jobs
// explain less, a share of their total would be mistaken for a share of the whole. Traffic other than a uniform
// exchange may take twice as many links.
const leastExplained = .5

// leastCompared is the share of all links' load that the jobs must explain for the traffic of jobs and links to be
// comparable: below, they are not measured alike.
const leastCompared = .2

// compare checks that the running jobs' traffic explains enough of the fabric's load.
func (in *interval) compare() {
	explained, carried := 0., 0.
	for _, j := range in.running {
		explained += in.recentOf(j).all * in.routesOf(j).Total
	}
	for l := range schema.LinkID(in.graph.NumLinks()) {
		carried += in.read.Carries(l)
	}
	in.measuresLoad = carried > 0
	in.comparable = explained >= leastCompared*carried*float64(in.history.Clock.Duration)/1e9
}

// carriedOn sums the load of links and its increase since the onset, bytes/s, as far as they are known.
func (rc *regionCase) carriedOn(links []schema.LinkID) (carried, added float64) {
	for _, l := range links {
		use := rc.in.use(l).orZero()
		if use == 0 {
			continue
		}
		c := rc.in.graph.Capacity(l) / 100
		carried += use * c
		if baseline := rc.baselineUse(l); baseline.known {
			added += max(0, use-baseline.of) * c
		}
	}
	return carried, added
}

// leastGrowth is the relative increase of a region's traffic above which it is attributed to jobs.
const leastGrowth = .15

// surelyGrew is the relative increase of a job's own traffic from which on its growth counts in full if no load readings
// show what was added, and from leastGrowth in part: an exchange that is always the same varies by as much. What is
// read and written fills the ports of few nodes, so that little more of it congests.
const surelyGrew = .5

// volume is what a job moves in an interval, bytes: the largest measured feature, and its file traffic.
type volume struct {
	all, files float64
	ran        float64 // of a baseline: the share of its slots since the job's start; before, it moved nothing
}

// baselineOf is a job's mean traffic over the slots before the onset.
func (rc *regionCase) baselineOf(j *job) volume {
	if j.Traffic == nil || !rc.timeline.hasOnset() {
		return volume{}
	}
	calm := rc.timeline.baseline()
	if m := &j.baseline; !m.known || m.slots != calm {
		*m = cachedVolume{known: true, slots: calm, volume: rc.in.movedIn(j, calm.At[:calm.N])}
	}
	return j.baseline.volume
}

// cachedVolume caches a job's traffic in some slots for the regions of an interval that began together.
type cachedVolume struct {
	known bool
	slots history.Slots
	volume
}

// movedIn is a job's mean traffic over some slots, of those in which its main feature is known: without that, the others
// say too little.
func (in *interval) movedIn(j *job, slots []int64) volume {
	all, files, n, yet := 0., 0., 0., 0.
	main := j.Traffic.Main(in.history.Clock.Now-int64(in.history.TrafficLength())+1, in.history.Clock.Now)
	for _, slot := range slots {
		if a, f, known := j.Traffic.Moved(slot); known && !history.IsMissing(j.Traffic.At(main, slot)) {
			all, files, n = all+a, files+f, n+1
		} else if (slot+1)*in.history.Clock.Duration <= int64(j.Start) {
			yet++
		}
	}
	if n == 0 && len(slots) > 0 && in.history.Clock.SlotOf(int64(j.Start)) <= slots[0] {
		recent := in.recentOf(j) // it ran, but its traffic is unknown
		return volume{recent.all, recent.files, 1}
	}
	return volume{all / max(1, n), files / max(1, n), n / max(1, n+yet)}
}

// recentOf is the maximum of the last intervals.
func (in *interval) recentOf(j *job) volume {
	if j.Traffic == nil {
		return volume{}
	}
	if m := &j.recent; !m.known {
		*m = cachedVolume{known: true}
		for slot := in.history.Clock.Now - settle; slot <= in.history.Clock.Now; slot++ {
			all, files, _ := j.Traffic.Moved(slot)
			m.all, m.files = max(m.all, all), max(m.files, files)
		}
	}
	return j.recent.volume
}

// written is what a job writes to files, bytes: the maximum of the last intervals, as recentOf. What it reads leaves
// the storage nodes.
func (in *interval) written(j *job) (bytes float64) { return in.recentOfFeature(j, history.Write) }

// recentOfFeature is the maximum of a feature of a job in the last intervals.
func (in *interval) recentOfFeature(j *job, f history.Feature) (most float64) {
	for slot := in.history.Clock.Now - settle; slot <= in.history.Clock.Now; slot++ {
		if v := j.Traffic.At(f, slot); !history.IsMissing(v) {
			most = max(most, float64(v))
		}
	}
	return most
}

// mostlyWrites reports whether at least half of what a suspect moves is written to files.
func (rc *regionCase) mostlyWrites(c *suspect) bool {
	if !c.file || !c.filesKnown {
		return false
	}
	return rc.in.written(c.job) >= rc.in.recentOf(c.job).all/2
}
