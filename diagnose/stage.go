package diagnose

import (
	"fmt"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/mitigation"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Stage diagnoses the regions of one fabric, interval by interval. It is not safe for concurrent use.
type Stage struct {
	interval
	mitigation mitigation.Tracker
	floor      root.Floor // of the fabric's readings, if it is a grid
}

// New returns a stage for one version of a fabric.
func New(g *topology.Graph, cfg Config) (*Stage, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("diagnose: %w", err)
	}
	return newStage(g, cfg), nil
}

// newStage is New with a valid configuration.
func newStage(g *topology.Graph, cfg Config) *Stage {
	s := &Stage{interval: newInterval(g, cfg)}
	s.earlier, s.history = newEarlierVerdicts(), history.New(g, s.router, history.Limits{Window: cfg.Window, MaxLag: cfg.MaxLag,
		Jobs: cfg.MaxJobs})
	return s
}

// Name is the key of the stage's saved state.
func (s *Stage) Name() string { return "diagnose" }

// Step ingests the inputs of an interval and diagnoses its regions of severity Low or higher.
func (s *Stage) Step(r *schema.IntervalResult) {
	if r.Snapshot == nil || r.Snapshot.Interval.DurationNanos <= 0 {
		return
	}
	s.history.Learn(r, s.rates(r.Snapshot))
	s.mitigation.Step(r)
	r.Diagnoses = s.diagnose(r)
}

// rates is the load by link in a snapshot, bytes/s; nil if it has none.
func (s *Stage) rates(snap *schema.Snapshot) func(schema.LinkID) float64 {
	if s.graph.Duplex() {
		return nil
	}
	read := s.finder.On(snap)
	if read.Use == nil && read.Rate == nil {
		return nil
	}
	return read.RateOf
}

// SetGraph switches to another version of the fabric: moved[l] is the number in g of link l of the old
// version, or schema.NoLink.
func (s *Stage) SetGraph(g *topology.Graph, moved []schema.LinkID) error {
	was := s.interval
	s.interval = newInterval(g, was.cfg)
	s.earlier, s.history = was.earlier, was.history
	s.history.SetGraph(g, s.router, moved)
	for _, m := range s.earlier.means {
		m.bottleneck, m.link = root.Bottleneck{}, leastScore // its link numbers are of the old version
	}
	return nil
}

// routesOf returns the routes of a job's traffic.
func (in *interval) routesOf(j *job) *routes.Set { return in.history.RoutesOf(j.Job) }
