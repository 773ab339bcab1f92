package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
)

// suspect is a job near a region or with traffic across it: a row of the A table.
type suspect struct {
	job  *job
	hops int // of its nearest node, or beyondHops

	// Where its traffic can be.
	cross        float64 // share of the region's stall on links that its own exchange uses
	gate         float64 // the same, on links at its border
	way          float64 // the same, on links between it and other nodes; a link that fits many jobs counts less
	atRoot       bool    // its traffic uses the link where back pressure begins
	leaves       float64 // how surely what leaves its hosts was added there, 0 to 1
	linksPerByte float64 // of its exchange on the region's links, as a multiple of what it sends
	waitPerByte  float64 // load weighted by the share of time that each link stalls
	worstStall   float64 // the highest share of time that one of these links stalls

	// What it moves (shareTraffic), and whether that agrees with the stall in time (findEvidence).
	share      float64 // this job's share of the region's traffic, as far as known
	growth     float64 // the same, of the load added since the onset
	grew       float64 // by how much more its traffic on the region is than before the onset, relative to that
	known      bool    // its traffic was measured
	feature    history.Feature
	value      float64 // maximum of the feature over the window, bytes
	devs       float64 // of the value above the jobs' median
	evidence   evidence
	file       bool // its outlier is file system traffic
	filesKnown bool // file system traffic was measured
	fetches    bool // that is RDMA reads from others than its nodes, of which the table does not know

	// On a torus, whether its nodes send to one switch (findConverging).
	converges float64 // how surely the added load is that, 0 to 1
	fit       float64 // of its tree, if it converges
	away      bool    // that switch is none of its own

	score float64
	blame float64
}

// crossing finds the regions that the traffic of each running job can cross: one pass over the routes of a
// job for all regions together.
func (in *interval) crossing(cases []regionCase) {
	w := &in.memberships
	w.index(cases)
	for _, j := range in.running {
		if len(j.Devices) == 0 {
			continue
		}
		set := in.routesOf(j)
		w.begin(len(cases))
		for i, l := range set.Links {
			for at := range w.regions.Of(l) {
				t := w.touch(at.region)
				t.cross += at.weight
				load := float64(set.Load[i])
				t.load += load
				t.waits += load * at.waits
				t.worst = max(t.worst, at.waits)
			}
		}
		for _, l := range set.Gates {
			for at := range w.regions.Of(l) {
				w.touch(at.region).gate += at.weight
			}
		}
		for _, c := range w.touched {
			t, rc := &w.sums[c], &cases[c]
			rc.suspects = append(rc.suspects, suspect{job: j, hops: beyondHops, cross: t.cross / rc.totalWeight,
				gate: t.gate / rc.totalWeight, linksPerByte: t.load, waitPerByte: t.waits, worstStall: t.worst})
		}
	}
}

// findSuspects adds the jobs within cfg.Hops that do not cross the region, and the distance of those that do.
func (rc *regionCase) findSuspects() {
	rc.in.reach.from(rc.region.Links, rc.in.cfg.Hops)
	rc.in.scratch.round++
	rc.in.scratch.around = rc.in.scratch.around[:0]
	for _, d := range rc.in.reach.queue { // nearest first
		for _, j := range rc.in.tenants[d] {
			if j.round != rc.in.scratch.round {
				j.round, j.hops = rc.in.scratch.round, rc.in.reach.at[d].hops
				rc.in.scratch.around = append(rc.in.scratch.around, j)
			}
		}
	}
	crossing := len(rc.suspects)
	for i := range rc.suspects {
		c := &rc.suspects[i]
		c.atRoot = rc.back.HasRoot() && rc.in.isAt(c.job, rc.back.Root.Link)
		if c.job.round == rc.in.scratch.round {
			c.hops = int(c.job.hops)
			c.job.round = 0
		}
	}
	for _, j := range rc.in.nearest() {
		atRoot := rc.back.HasRoot() && rc.in.isAt(j, rc.back.Root.Link)
		rc.suspects = append(rc.suspects, suspect{job: j, hops: int(j.hops), atRoot: atRoot})
	}
	for _, j := range rc.in.readers {
		// beyond the hops, or the nearest
		if !slices.ContainsFunc(rc.suspects, func(c suspect) bool { return c.job == j }) {
			rc.suspects = append(rc.suspects, suspect{job: j, hops: beyondHops})
		}
	}
	slices.SortFunc(rc.suspects[crossing:], func(a, b suspect) int {
		return cmp.Or(cmp.Compare(a.hops, b.hops), cmp.Compare(a.job.order, b.job.order))
	})
	rc.dropFarthest()
	for i := range rc.suspects {
		rc.suspects[i].leaves = rc.rules().leaving(&rc.suspects[i])
	}
}

// maxReaders bounds the jobs that are suspects wherever they run, because of their file traffic.
const maxReaders = 3

// findReaders lists the jobs whose file traffic is an outlier in the whole fabric: the path to the storage
// nodes may exceed any number of hops.
func (in *interval) findReaders() {
	in.readers, in.scratch.values = in.readers[:0], in.scratch.values[:0]
	for _, j := range in.running {
		in.scratch.values = append(in.scratch.values, in.recentOf(j).files)
	}
	usual := spreadOf(in.scratch.values, leastScale)
	for _, j := range in.running {
		if files := in.recentOf(j).files; files > 0 && usual.deviations(files) > in.cfg.Deviations {
			in.readers = append(in.readers, j)
		}
	}
	slices.SortFunc(in.readers, func(a, b *job) int {
		return cmp.Or(cmp.Compare(b.recent.files, a.recent.files), cmp.Compare(a.ID, b.ID))
	})
	in.readers = in.readers[:min(maxReaders, len(in.readers))]
}

// isAt reports whether a job's traffic uses a link, within the job or at its border.
func (in *interval) isAt(j *job, l schema.LinkID) bool {
	r := in.routesOf(j)
	if _, found := slices.BinarySearch(r.Gates, l); found {
		return true
	}
	return r.On(l) > 0
}

// maxSuspects bounds the suspects of a region; those with the least traffic across it are dropped, except readers,
// whose paths to storage nodes are not known.
const maxSuspects = 32

// nearest returns the maxSuspects nearest jobs around a region that do not cross it, nearest first.
func (in *interval) nearest() []*job {
	near := in.scratch.nearby[:0]
	for _, j := range in.scratch.around {
		if j.round != in.scratch.round {
			continue
		}
		at, _ := slices.BinarySearchFunc(near, j, func(a, b *job) int {
			return cmp.Or(cmp.Compare(a.hops, b.hops), cmp.Compare(a.order, b.order))
		})
		if at == maxSuspects {
			continue
		}
		near = slices.Insert(near[:min(len(near), maxSuspects-1)], at, j)
	}
	in.scratch.nearby = near
	return near
}

// dropFarthest drops the suspects beyond maxSuspects.
func (rc *regionCase) dropFarthest() {
	if len(rc.suspects) <= maxSuspects {
		return
	}
	traffic := func(c *suspect) float64 {
		if slices.Contains(rc.in.readers, c.job) {
			return math.Inf(1)
		}
		return c.cross + c.gate
	}
	slices.SortStableFunc(rc.suspects, func(a, b suspect) int {
		return cmp.Or(cmp.Compare(traffic(&b), traffic(&a)), cmp.Compare(a.hops, b.hops))
	})
	rc.suspects = rc.suspects[:maxSuspects]
}

// onTheWay is the share of a region's stall on links that file system traffic of a job can take.
func (rc *regionCase) onTheWay(j *job) float64 {
	return rc.in.router.OnTheWay(rc.in.routesOf(j), rc.region.Links, rc.weight) / rc.totalWeight
}

// reaches is the share of a region's stall where a suspect's traffic can be.
func (c *suspect) reaches() float64 { return max(c.cross, c.gate, c.way) }
