package diagnose

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// work is scratch that the regions of an interval share.
type work struct{}

func newWork(*topology.Graph) work { return work{} }

// diagnose gives a verdict for every region at Low or above.
func (s *Stage) diagnose(r *schema.IntervalResult) []schema.Diagnosis {
	var out []schema.Diagnosis
	for i := range r.Regions {
		region := &r.Regions[i]
		if region.Severity < schema.Low || len(region.Links) == 0 {
			continue
		}
		out = append(out, schema.Diagnosis{Fabric: r.Snapshot.Fabric, Time: schema.Instant(r.Snapshot.Interval.StartNanos), Region: region.ID,
			Metric: region.Metric, Severity: region.Severity, Links: slices.Clone(region.Links), Mean: region.Mean,
			Cause: schema.Cause{Class: schema.CauseUnknown}, Jobs: []schema.AccusedJob{}, Failures: []schema.NearFailure{}, Victims: []schema.VictimJob{}})
	}
	return out
}

func (s *Stage) deriveTraffic(*schema.Snapshot) {}
