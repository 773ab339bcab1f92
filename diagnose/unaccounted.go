package diagnose

import (
	"math"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
)

// leastAccounted is how many intervals before the onset, and accountedIntervals how many since at most, are compared.
const leastAccounted, accountedIntervals = 4, 8

// unaccounted is what was added since the onset of a region of directed links to what the hosts of a job take in, and the traffic table does not
// account for, bytes/s, as far as it exceeds the table's noise: traffic of a job that no table lists, on the same hosts. The table may count
// each byte once or twice, or a part only, but in the same way before and after. It is 0 also where the table has no such traffic of the
// job, or another listed job is on its hosts.
func (rc *regionCase) unaccounted(j *job) float64 {
	t := j.Traffic
	if rc.graph.Duplex() || rc.onset < 0 || t == nil || !t.Listed[history.RDMARead] && !t.Listed[history.RDMAWrite] {
		return 0
	}
	for _, d := range j.Devices {
		if rc.graph.IsSwitch(d) || rc.hasOthers(d, j) {
			return 0
		}
	}
	calm, now := rc.before(), rc.history.Clock.Now
	var since history.Slots
	for slot := min(now, max(rc.began()+1, now-accountedIntervals+1)); slot <= now; slot++ {
		since.At[since.N] = slot
		since.N++
	}
	was, is := rc.compareTaken(j, calm.At[:calm.N]), rc.compareTaken(j, since.At[:since.N])
	if was.n < leastAccounted || is.n == 0 {
		return 0
	}
	expected := was.taken / was.moved * is.moved / is.n
	noise := math.Sqrt(max(0, was.squares/was.n-1)*(1/was.n+1/is.n)) * expected
	return max(0, is.taken/is.n-expected-noise) * 1e9 / float64(rc.history.Clock.Duration)
}

// unaccountedAt is the same of a suspect at one of whose hosts more arrives than its port delivers, else 0: elsewhere what is added on its hosts
// may not lead over the root.
func (s scores) unaccountedAt(c *suspect) float64 {
	if s.back.Kind != schema.RootIncast || !c.root {
		return 0
	}
	return s.unaccounted(c.job)
}

// comparison sums up slots in which both the links of a job's hosts and the table were read.
type comparison struct {
	n, taken, moved float64 // bytes
	squares         float64 // of the ratio of taken to moved, relative to its mean
}

func (rc *regionCase) compareTaken(j *job, slots []int64) (c comparison) {
	use := rc.history.LevelsOf(schema.BandwidthUsed)
	if use == nil {
		return c
	}
	links, capacity := rc.scratch.links[:0], 0.
	for _, d := range j.Devices {
		for _, l := range rc.graph.LinksAt(d) {
			if _, to := rc.graph.Ends(l); to == d {
				links, capacity = append(links, l), capacity+rc.graph.Capacity(l)
			}
		}
	}
	rc.scratch.links = links
	ratios, squares := 0., 0.
	for _, slot := range slots {
		percent, moved := use.Mean(slot, links), listedBytes(j.Traffic, slot)
		if history.IsMissing(percent) || !(moved > 0) {
			continue
		}
		taken := float64(percent) / 100 * capacity * float64(rc.history.Clock.Duration) / 1e9
		c.n, c.taken, c.moved = c.n+1, c.taken+taken, c.moved+moved
		ratios, squares = ratios+taken/moved, squares+taken/moved*taken/moved
	}
	if ratios > 0 {
		c.squares = squares / (ratios / c.n) / (ratios / c.n)
	}
	return c
}

// listedBytes sums up the columns that the traffic table has of a job in a slot, NaN if one of them is missing. File traffic may be in two of
// them: it then counts twice for the job.
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
