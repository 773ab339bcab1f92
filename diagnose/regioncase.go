package diagnose

import (
	"math"

	"github.com/giverny/giverny/diagnose/correlation"
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// regionCase is a region under diagnosis: what is measured of it in the interval, and the verdict. The steps of judge
// fill it in the order of its fields; scores only read it.
type regionCase struct {
	in          *interval
	region      *schema.Region
	timeline    timeline
	weight      []float64 // by link of the region: its stall now, or 1e-3 if unknown
	totalWeight float64   // sum of weight
	waits       []float64 // by link of the region: the share of time that it stalls, 0 if unknown

	// Evidence (examine).
	load     ratio          // of its links, relative to the baseline
	pressure *root.Pressure // the readings, compared with those before its onset
	back     root.BackPressure
	root     rootLoad
	hasSink  bool     // with directed links, a host takes in what was added to the root
	out      outflows // with directed links, of jobs, if the root is the full port to a host
	suspects []suspect
	waiting  bool  // no load is measured, and hosts are seen to wait to send into it
	starts   []int // neither is, and its traffic comes from these of its links
	together *job  // on a grid, the only job on whose ground the region and others began together; nil: none

	// Where its traffic ends, on a grid.
	creditPressure *root.Pressure   // as pressure; of stall inside switches, which lies beside the tree, by what lacks credits
	senders        []root.Sender    // jobs that probably send it
	onGrid         *root.GridRegion // the examination of that
	ends           ends
	emptyExcess    float64   // its share of switches without a listed job, beyond that of the grid
	addedByLink    []float64 // by link of the region: load added since the onset; empty if they carry hardly more

	// Scores (rateFailures, rate), those of suspects and failures with them.
	failures             []nearFailure // most likely first
	parallel             parallelLinks // to the full link
	rerouted             float64       // share of root.added that failed links beside it carried before
	hostScore, linkScore float64       // of a slow host, and of a link that lost rate

	// The decision (decide).
	odds    odds
	verdict verdict
	nodes   *topology.Device // on a grid, the switch at whose nodes back pressure ends; nil: it does not, or unknown
}

// isStallOnly reports whether nothing but stall is read on a grid, so that a link that lost rate looks like any other.
func (rc *regionCase) isStallOnly() bool { return rc.in.graph.Duplex() && !rc.in.measuresLoad }

// rootLoad is what the root of a region carries, and how that changed since its onset.
type rootLoad struct {
	link    schema.LinkID // the root, or the fullest link without a root; NoLink: unknown
	carries float64       // its load, bytes/s; 0 also if unknown
	added   float64       // part of that since the onset; 0 also if unknown
}

// begin sets up the case of a region, in memory reused from the previous interval.
func (in *interval) begin(rc *regionCase, snap *schema.Snapshot, region *schema.Region) {
	*rc = regionCase{in: in, region: region, timeline: timeline{clock: in.history.Clock, stall: rc.timeline.stall[:0],
		onset: noOnset, burst: noOnset}, weight: rc.weight[:0], waits: rc.waits[:0], addedByLink: rc.addedByLink[:0],
		suspects: rc.suspects[:0], failures: rc.failures[:0], starts: rc.starts[:0]}
	levels := in.history.LevelsOf(region.Metric)
	seen := min(int64(in.cfg.Window), in.history.Clock.Now-in.history.Clock.First+1)
	for slot := in.history.Clock.Now - seen + 1; slot <= in.history.Clock.Now; slot++ {
		v := math.NaN()
		if levels != nil {
			if m := levels.Mean(slot, region.Links); !history.IsMissing(m) {
				v = float64(m)
			}
		}
		rc.timeline.stall = append(rc.timeline.stall, v)
	}
	series := snap.Find(region.Metric)
	for _, l := range region.Links {
		v, waits := 1e-3, 0.
		if series != nil && int(l) < len(series.Values) && series.Valid.Has(int(l)) {
			v, waits = max(v, float64(series.Values[l])), min(root.MaxStall, max(0, float64(series.Values[l])/100))
		}
		rc.weight, rc.waits = append(rc.weight, v), append(rc.waits, waits)
		rc.totalWeight += v
	}
	rc.timeline.burst = onsetOf(rc.timeline.stall, shortPause)
	rc.timeline.onset = rc.timeline.burst
	rc.rules().dateOnset()
	rc.timeline.old = !rc.timeline.hasOnset() && seen >= correlation.LeastPairs
}
