package diagnose

import (
	"math"

	"github.com/giverny/giverny/diagnose/correlation"
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// begin sets up the case of a region, in memory reused from the previous interval.
func (in *interval) begin(rc *regionCase, snap *schema.Snapshot, region *schema.Region) {
	*rc = regionCase{interval: in, region: region, onset: -1, again: -1, stall: rc.stall[:0], weight: rc.weight[:0], waits: rc.waits[:0], added: rc.added[:0], jobs: rc.jobs[:0], failures: rc.failures[:0]}
	levels := in.history.LevelsOf(region.Metric)
	seen := min(int64(in.cfg.Window), in.history.Clock.Now-in.history.Clock.First+1)
	for slot := in.history.Clock.Now - seen + 1; slot <= in.history.Clock.Now; slot++ {
		v := math.NaN()
		if levels != nil {
			if m := levels.Mean(slot, region.Links); !history.IsMissing(m) {
				v = float64(m)
			}
		}
		rc.stall = append(rc.stall, v)
	}
	series := snap.Find(region.Metric)
	for _, l := range region.Links {
		v, waits := 1e-3, 0.
		if series != nil && int(l) < len(series.Values) && series.Valid.Has(int(l)) {
			v, waits = max(v, float64(series.Values[l])), min(root.MaxStall, max(0, float64(series.Values[l])/100))
		}
		rc.weight, rc.waits = append(rc.weight, v), append(rc.waits, waits)
		rc.total += v
	}
	rc.again = onsetOf(rc.stall, shortPause)
	rc.onset = rc.again
	if !in.graph.Duplex() {
		if first := onsetOf(rc.stall, longPause); first >= 0 {
			rc.onset = first
		}
		if rc.onset >= 0 && rc.before().N == 0 {
			rc.onset = -1 // nothing is remembered to compare it with
		}
		if rc.onset < 0 {
			if at := rc.stepUp(); at >= 0 { // its beginning moves to the failure
				rc.onset, rc.again = at, at
			}
		}
	}
	rc.old = rc.onset < 0 && seen >= correlation.LeastPairs
}
