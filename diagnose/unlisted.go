package diagnose

import (
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
)

// unlistedPart is the part that hosts of no listed job have in a region of directed links, as a multiple of that of the
// accused: the blame of a job that no table lists. All that speaks in time for the accused speaks for these hosts, too.
// The part is what they may have added to the region's root since its onset, with what the traffic table does not
// account for on the hosts of the accused or, if no load is measured, how long they wait to send.
func (d directed) unlistedPart(accused int) float64 {
	switch {
	case accused == 0:
		return 0
	case d.waiting && d.suspects[0].writes() && d.mostlyWrites(&d.suspects[0]):
		return d.unlistedWaits(accused, 1)
	case d.waiting && !d.suspects[0].file && !d.readsAtLineRate(&d.suspects[0]):
		// of a reader, these may be storage nodes
		return d.unlistedWaits(accused, unlistedWeight)
	case !d.in.measuresLoad:
		return d.unlistedStarts()
	case d.endsAtNoJob() && d.suspects[0].file && d.suspects[0].leaves == 0:
		if waits := d.unlistedWaits(accused, 1); waits > 0 {
			return waits
		}
	}
	switch {
	case d.root.link == schema.NoLink:
		return 0
	case d.timeline.hasOnset():
		return d.unlistedAdded(accused)
	case d.suspects[0].file || d.readsFiles(d.suspects[0].job):
		return 0
	}
	from := d.fromOutside(accused)
	return d.timesOwn(from, d.root.carries-from)
}

// timesOwn is a load, bytes/s, as a multiple of own, bounded.
func (d directed) timesOwn(load, own float64) float64 {
	return min(mostUnlisted, load/max(own, d.in.graph.Capacity(d.root.link)/mostUnlisted))
}

// unlistedAdded is unlistedPart by what was added to the root since the onset.
func (d directed) unlistedAdded(accused int) float64 {
	theirs, own, hosts := 0., 0., d.in.hostsOfNoListedJob()
	if sent, _ := d.loadsOver(hosts, d.root.link); sent.read > 0 { // else nothing shows that they send
		theirs = d.mayHaveMore(hosts, d.root.link, false)
	}
	for i := range accused {
		more := d.mayHaveAdded(&d.suspects[i])
		// the rest is the job's, whatever its hosts send in total
		if others := d.unaccountedAt(&d.suspects[i]); others > 0 {
			more, theirs = max(0, d.root.added-others), theirs+others
		}
		own += more
	}
	theirs = min(theirs, d.root.added)
	// one end of file traffic is at hosts of no job, and of what leaves the accused's hosts
	if d.suspects[0].file || d.suspects[0].leaves > 0 {
		return d.sharedWith(accused, own, min(theirs, max(0, d.root.added-own)))
	}
	from := d.fromOutside(accused)
	rest := d.root.added - from
	return max(d.timesOwn(unlistedWeight*theirs, min(own, rest)), d.timesOwn(from, rest))
}

// readsAtLineRate reports whether a suspect reads by RDMA as much as the ports to all of its hosts carry, one of which
// is at the switch where stall ends: a receiver at its line rate is what a sender waits for, also if that is in no job,
// as a storage node is.
func (d directed) readsAtLineRate(c *suspect) bool {
	if !c.known || c.feature != history.RDMARead || !d.back.IsIncast() || d.cannotEndAt(c) {
		return false
	}
	carry := 0.
	for _, host := range c.job.Devices {
		for _, l := range d.in.graph.LinksAt(host) {
			if _, to := d.in.graph.Ends(l); to == host {
				carry += d.in.graph.Capacity(l)
			}
		}
	}
	return carry > 0 && d.in.perSecond(d.in.recentOf(c.job).all) >= (1-onePort)*carry
}

// mayHaveAdded bounds what a suspect added to the region's root since its onset, bytes/s, by the links of its hosts, and
// by what was added to its file traffic. If that is measured it may have taken the place of other traffic of its hosts,
// so these may send no more than before.
func (d directed) mayHaveAdded(c *suspect) float64 {
	if c.leaves > 0 {
		return d.leftMore(c.job)
	}
	if !c.file || !c.filesKnown {
		return d.mayHaveMore(c.job.Devices, d.root.link, !c.filesKnown)
	}
	files := max(0, d.in.recentOf(c.job).files-d.baselineOf(c.job).files)
	if d.endsAtNoJob() { // what it reads comes from there
		files = min(files, d.in.written(c.job))
	}
	sent, taken := d.loadsOver(c.job.Devices, d.root.link)
	return min(max(sent.mostNow(), taken.mostNow()), d.in.perSecond(files))
}

// unlistedWaits is the time for which hosts of no listed job wait to send into a region, times a weight, relative to
// that of the accused, or to the usual part of a culprit if that is more.
func (d directed) unlistedWaits(accused int, weight float64) float64 {
	theirs, own, all := 0., 0., 0.
	for i := range accused {
		waits, unlisted, sum := d.hostWaits(d.suspects[i].job)
		theirs, own, all = unlisted, own+waits, sum
	}
	if theirs == 0 {
		return 0
	}
	return min(mostUnlisted, weight*theirs/max(own, usualPart*(all-theirs), theirs/mostUnlisted))
}

// unlistedStarts is the same by where the waiting of an incast starts, if no host is seen to wait.
func (d directed) unlistedStarts() float64 {
	own, unlisted, all := d.startWaits(&d.suspects[0])
	if unlisted == 0 {
		return 0
	}
	return min(mostUnlisted, unlistedWeight*unlisted/max(own, usualPart*all))
}

// leastAccounted is how many intervals before the onset, and accountedIntervals how many since at most, are compared.
const leastAccounted, accountedIntervals = 4, 8

// unaccounted is what was added since the onset of a region of directed links to what the hosts of a job take in, and
// the traffic table does not account for, bytes/s, as far as it exceeds the table's noise: traffic of a job that no
// table lists, on the same hosts. The table may count each byte once or twice, or a part only, but in the same way
// before and after; what it has in new columns counts at least once. It is 0 also where the table has no such traffic of
// the job, or of another listed job on its hosts.
func (rc *regionCase) unaccounted(j *job) float64 {
	t := j.Traffic
	if !rc.timeline.hasOnset() || t == nil || !t.Listed[history.RDMARead] && !t.Listed[history.RDMAWrite] {
		return 0
	}
	others, known := rc.in.sharing(j)
	if !known {
		return 0
	}
	calm, now := rc.timeline.baseline(), rc.in.history.Clock.Now
	var since history.Slots
	for slot := min(now, max(rc.timeline.began()+1, now-accountedIntervals+1)); slot <= now; slot++ {
		since.At[since.N] = slot
		since.N++
	}
	baseline := ratiosOf(rc.compareTaken(j, others, calm.At[:calm.N]))
	is := rc.compareTaken(j, others, since.At[:since.N])
	if len(baseline) < leastAccounted || len(is) == 0 {
		return 0
	}
	isNew := newColumns(t, calm.At[:calm.N], since.At[:since.N])
	usual, moved := spreadOf(baseline, 0), 0.
	beyond := rc.in.scratch.since[:0]
	for _, a := range is {
		accounted := usual.median*a.moved + max(0, 1-usual.median)*bytesIn(t, a.slot, isNew)
		beyond, moved = append(beyond, a.taken-accounted), moved+a.moved/float64(len(is))
	}
	rc.in.scratch.since = beyond
	noise := usual.scale * moved * math.Sqrt(1/float64(len(baseline))+1/float64(len(is)))
	return rc.in.perSecond(max(0, medianOf(beyond)-noise)) // one incomplete row does not count
}

// unaccountedAt is the same of a suspect at one of whose hosts more arrives than its port delivers, else 0: elsewhere
// what is added on its hosts may not lead over the root.
func (rc *regionCase) unaccountedAt(c *suspect) float64 {
	if rc.back.Root.Kind != schema.RootIncast || !c.atRoot {
		return 0
	}
	return rc.unaccounted(c.job)
}

// sharing is another listed job with a part of its nodes on the hosts of one.
type sharing struct {
	job  *job
	part float64
}

// sharing lists them; not known are those of switches, and without RDMA in the traffic table.
func (in *interval) sharing(j *job) (others []sharing, known bool) {
	for _, d := range j.Devices {
		if in.graph.IsSwitch(d) {
			return nil, false
		}
		for _, o := range in.tenants[d] {
			switch i := slices.IndexFunc(others, func(s sharing) bool { return s.job == o }); {
			case o.ID == j.ID:
			case i >= 0:
				others[i].part += 1 / float64(len(o.Devices))
			case o.Traffic == nil || !o.Traffic.Listed[history.RDMARead] && !o.Traffic.Listed[history.RDMAWrite]:
				return nil, false
			default:
				others = append(others, sharing{o, 1 / float64(len(o.Devices))})
			}
		}
	}
	return others, true
}

// newColumns are the columns of the traffic table that have next to nothing of a job in slots before an onset, relative
// to slots since: how the table counts these bytes is not known from before.
func newColumns(t *history.Traffic, before, since []int64) (isNew [history.NumMeasured]bool) {
	for f, listed := range t.Listed {
		isNew[f] = listed && meanIn(t, history.Feature(f), before) < negligible*meanIn(t, history.Feature(f), since)
	}
	return isNew
}

// meanIn is the mean of a feature over the slots that have it, bytes.
func meanIn(t *history.Traffic, f history.Feature, slots []int64) float64 {
	sum, n := 0., 0.
	for _, slot := range slots {
		if v := t.At(f, slot); !history.IsMissing(v) {
			sum, n = sum+float64(v), n+1
		}
	}
	return sum / max(1, n)
}

// accounted is what the hosts of a job took in by their links in a slot, and what it moved by the table, bytes.
type accounted struct {
	slot         int64
	taken, moved float64
}

// ratiosOf are the ratios of taken to moved, by slot.
func ratiosOf(slots []accounted) (ratios []float64) {
	for _, t := range slots {
		ratios = append(ratios, t.taken/t.moved)
	}
	return ratios
}

// compareTaken lists slots in which both were read.
func (rc *regionCase) compareTaken(j *job, others []sharing, slots []int64) (read []accounted) {
	for _, slot := range slots {
		taken, moved := rc.in.carriedByHosts(j, slot, false), listedBytes(j.Traffic, slot)
		for _, o := range others {
			if (slot+1)*rc.in.history.Clock.Duration > int64(o.job.Start) {
				moved += o.part * listedBytes(o.job.Traffic, slot)
			}
		}
		if !math.IsNaN(taken) && moved > 0 {
			read = append(read, accounted{slot, taken, moved})
		}
	}
	return read
}

// carriedByHosts is what the links of a job's hosts carried in a slot, of what these send or take in, bytes; NaN if it
// was not read.
func (in *interval) carriedByHosts(j *job, slot int64, sent bool) float64 {
	use := in.history.LevelsOf(schema.BandwidthUsed)
	if use == nil {
		return math.NaN()
	}
	links, capacity := in.scratch.links[:0], 0.
	for _, d := range j.Devices {
		for _, l := range in.graph.LinksAt(d) {
			if from, _ := in.graph.Ends(l); (from == d) == sent {
				links, capacity = append(links, l), capacity+in.graph.Capacity(l)
			}
		}
	}
	in.scratch.links = links
	return float64(use.Mean(slot, links)) / 100 * capacity * float64(in.history.Clock.Duration) / 1e9
}

// listedBytes sums up the columns that the traffic table has of a job in a slot, NaN if one of them is missing. File
// traffic may be in two of them: it then counts twice for the job.
func listedBytes(t *history.Traffic, slot int64) (sum float64) { return bytesIn(t, slot, t.Listed) }

// bytesIn is the same of some columns.
func bytesIn(t *history.Traffic, slot int64, columns [history.NumMeasured]bool) (sum float64) {
	for f, counts := range columns {
		if v := t.At(history.Feature(f), slot); counts && history.IsMissing(v) {
			return math.NaN()
		} else if counts {
			sum += float64(v)
		}
	}
	return sum
}
