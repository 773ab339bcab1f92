package diagnose

import (
	"fmt"
	"math"

	"github.com/giverny/giverny/diagnose/mitigation"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Stage diagnoses the regions of one fabric, interval by interval. It is not safe for concurrent use.
type Stage struct {
	cfg   Config
	graph *topology.Graph

	clock    clock
	jobs     *jobTable
	failures []failure // of the last window, by time
	memory   memory    // of links
	measured bool      // job traffic was received, so it need not be derived from links
	// The first slot with a row in the traffic table; math.MaxInt64: none.
	tableSince int64
	cme        mitigation.Tracker
	kept       map[uint64]*kept       // verdicts, by region
	means      map[uint64]*meanScores // of causes, by region
	roots      map[uint64]*rootVotes  // by region
	floor      root.Floor             // of the fabric's readings, if it is a grid

	router       *routes.Router
	hosts        []topology.DeviceID
	smallestLeaf int // the number of hosts of the smallest leaf switch
	reach        reach
	work         work
}

// New returns a stage for one version of a fabric.
func New(g *topology.Graph, cfg Config) (*Stage, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("diagnose: %w", err)
	}
	s := &Stage{cfg: cfg, jobs: newJobTable(), tableSince: math.MaxInt64, means: map[uint64]*meanScores{}, roots: map[uint64]*rootVotes{}}
	s.setGraph(g)
	return s, nil
}

func (s *Stage) setGraph(g *topology.Graph) {
	s.graph, s.router, s.reach = g, routes.NewRouter(g), newReach(g)
	s.countHosts()
	s.memory = memory{length: s.cfg.Window, links: g.NumLinks()}
	interval := s.work.interval // key of the values that jobs cache
	s.work = newWork(g, s.router.Grid)
	s.work.interval = interval
}

// Name is the key of the stage's saved state.
func (s *Stage) Name() string { return "diagnose" }

// Step ingests the inputs of an interval and diagnoses its regions of severity Low or higher.
func (s *Stage) Step(r *schema.IntervalResult) {
	if r.Snapshot == nil || r.Snapshot.Interval.DurationNanos <= 0 {
		return
	}
	s.learn(r)
	s.cme.Step(r)
	r.Diagnoses = s.diagnose(r)
}

// learn ingests an interval: jobs, failures, traffic and the state of the links.
func (s *Stage) learn(r *schema.IntervalResult) {
	last := s.tick(r.Snapshot.Interval)
	s.memory.follow(last, s.clock.now, r.Snapshot, func(link int) float64 { return s.graph.Capacity(schema.LinkID(link)) })
	for i := range r.Jobs {
		s.jobs.upsert(s.graph, r.Jobs[i])
	}
	s.jobs.forget((s.clock.now-int64(s.trafficLength()))*s.clock.duration, s.cfg.MaxJobs)
	s.takeFailures(r.Failures)
	s.takeTraffic(r.Traffic)
	s.deriveTraffic(r.Snapshot)
}

// tick advances the clock to an interval and returns the previous slot. If the length of intervals changes,
// everything remembered by slot is dropped.
func (s *Stage) tick(in schema.Interval) (last int64) {
	if s.clock.duration != in.DurationNanos {
		s.clock = clock{duration: in.DurationNanos}
		s.clock.now = s.clock.slotOf(in.StartNanos)
		s.clock.first = s.clock.now
		s.memory = memory{length: s.cfg.Window, links: s.graph.NumLinks()}
		for _, j := range s.jobs.all() {
			j.traffic = nil
		}
		return s.clock.now - 1
	}
	last = s.clock.now
	s.clock.now = max(last, s.clock.slotOf(in.StartNanos))
	return last
}

// SetGraph switches to another version of the fabric: moved[l] is the number in g of link l of the old
// version, or schema.NoLink.
func (s *Stage) SetGraph(g *topology.Graph, moved []schema.LinkID) error {
	was := s.memory
	s.setGraph(g)
	for m, old := range was.metrics {
		if old == nil {
			continue
		}
		now := s.memory.of(schema.Metric(m))
		for slot := range int64(was.length) {
			from, to := old.row(slot), now.row(slot)
			for l, id := range moved {
				if id != schema.NoLink && l < len(from) && int(id) < len(to) {
					to[id] = from[l]
				}
			}
		}
	}
	for _, j := range s.jobs.all() {
		j.place(g)
	}
	for i := range s.failures {
		s.failures[i].place(g)
	}
	for _, m := range s.means {
		m.neck, m.link = root.Neck{}, leastScore // its link numbers are of the old version
	}
	return nil
}

// routesOf returns the routes of a job's traffic.
func (s *Stage) routesOf(j *job) *routes.Set {
	if j.routes == nil {
		j.routes = s.router.Of(j.devices)
	}
	return j.routes
}
