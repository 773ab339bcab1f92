package diagnose

import (
	"math"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
)

// leastAccounted is how many intervals before the onset, and accountedIntervals how many since at most, are compared.
const leastAccounted, accountedIntervals = 4, 8

// unaccounted is what was added since the onset of a region of directed links to what the hosts of a job take in, and
// the traffic table does not account for, bytes/s, as far as it exceeds the table's noise: traffic of a job that no
// table lists, on the same hosts. The table may count each byte once or twice, or a part only, but in the same way
// before and after. It is 0 also where the table has no such traffic of the job, or another listed job is on its hosts.
func (rc *regionCase) unaccounted(j *job) float64 {
	t := j.Traffic
	if !rc.timeline.hasOnset() || t == nil || !t.Listed[history.RDMARead] && !t.Listed[history.RDMAWrite] {
		return 0
	}
	for _, d := range j.Devices {
		if rc.in.graph.IsSwitch(d) || rc.in.hasOthers(d, j) {
			return 0
		}
	}
	calm, now := rc.timeline.baseline(), rc.in.history.Clock.Now
	var since history.Slots
	for slot := min(now, max(rc.timeline.began()+1, now-accountedIntervals+1)); slot <= now; slot++ {
		since.At[since.N] = slot
		since.N++
	}
	baseline := ratiosOf(rc.compareTaken(j, calm.At[:calm.N]))
	is := rc.compareTaken(j, since.At[:since.N])
	if len(baseline) < leastAccounted || len(is) == 0 {
		return 0
	}
	usual, moved := spreadOf(baseline, 0), 0.
	beyond := rc.in.scratch.since[:0]
	for _, t := range is {
		beyond, moved = append(beyond, t.taken-usual.median*t.moved), moved+t.moved/float64(len(is))
	}
	rc.in.scratch.since = beyond
	noise := usual.scale * moved * math.Sqrt(1/float64(len(baseline))+1/float64(len(is)))
	return rc.in.perSecond(max(0, medianOf(beyond)-noise)) // one incomplete row does not count
}

// unaccountedAt is the same of a suspect at one of whose hosts more arrives than its port delivers, else 0: elsewhere
// what is added on its hosts may not lead over the root.
func (s scores) unaccountedAt(c *suspect) float64 {
	if s.back.Root.Kind != schema.RootIncast || !c.atRoot {
		return 0
	}
	return s.unaccounted(c.job)
}

// accounted is what the hosts of a job took in by their links in a slot, and what it moved by the table, bytes.
type accounted struct{ taken, moved float64 }

// ratiosOf are the ratios of taken to moved, by slot.
func ratiosOf(slots []accounted) (ratios []float64) {
	for _, t := range slots {
		ratios = append(ratios, t.taken/t.moved)
	}
	return ratios
}

// compareTaken lists slots in which both were read.
func (rc *regionCase) compareTaken(j *job, slots []int64) (read []accounted) {
	use := rc.in.history.LevelsOf(schema.BandwidthUsed)
	if use == nil {
		return nil
	}
	links, capacity := rc.in.scratch.links[:0], 0.
	for _, d := range j.Devices {
		for _, l := range rc.in.graph.LinksAt(d) {
			if _, to := rc.in.graph.Ends(l); to == d {
				links, capacity = append(links, l), capacity+rc.in.graph.Capacity(l)
			}
		}
	}
	rc.in.scratch.links = links
	for _, slot := range slots {
		percent, moved := use.Mean(slot, links), listedBytes(j.Traffic, slot)
		if !history.IsMissing(percent) && moved > 0 {
			taken := float64(percent) / 100 * capacity * float64(rc.in.history.Clock.Duration) / 1e9
			read = append(read, accounted{taken, moved})
		}
	}
	return read
}

// listedBytes sums up the columns that the traffic table has of a job in a slot, NaN if one of them is missing. File
// traffic may be in two of them: it then counts twice for the job.
func listedBytes(t *history.Traffic, slot int64) (sum float64) {
	for f, listed := range t.Listed {
		if v := t.At(history.Feature(f), slot); listed && history.IsMissing(v) {
			return math.NaN()
		} else if listed {
			sum += float64(v)
		}
	}
	return sum
}
