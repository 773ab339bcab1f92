package diagnose

import (
	"maps"

	"github.com/giverny/giverny/diagnose/correlation"
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// interval is what is measured of the whole fabric in one interval. The cases of its regions share it. Its memory is
// reused in the next interval.
type interval struct {
	// The same in all intervals.
	cfg          Config
	graph        *topology.Graph
	router       *routes.Router
	finder       *root.Finder
	hosts        []topology.DeviceID
	smallestLeaf int // the number of hosts of the smallest leaf switch

	// Of the intervals before.
	history *history.History
	earlier *earlierVerdicts

	// Of this one.
	runningJobs
	read         *root.Readings
	measuresLoad bool                            // the load of links is measured
	comparable   bool                            // traffic of jobs and of links is measured alike
	lastFailed   map[history.Part]schema.Instant // when parts failed last, of those that failed
	memberships  memberships
	overlap      overlap // of the region asked for last
	reach        reach   // the same
	balances     hostBalances
	beside       linksBeside // of the region whose failures are rated

	scratch reused
}

// reused is memory that holds nothing from one use to the next.
type reused struct {
	cases           []regionCase
	pool            []job               // of running
	settled         []topology.DeviceID // with tenants
	lagged          []*lagged           // of the jobs' features, the first laggedUsed
	laggedUsed      int
	round           uint32
	around          []*job // within cfg.Hops of a region, nearest first
	nearby          []*job
	baseline, since []float64
	own, theirs     []float64 // by link of the region (expectedLoads)
	values          []float64
	links           []schema.LinkID // of a job's hosts
	growths         []growth        // of loadsExchange
	added           addedOnGrid     // of addedBeside
	correlator      correlation.Correlator
	senders         []root.Sender // of findSenders
	sending         []*job        // whose these are
	onWay           onWay
	trees           []tree // of findConverging
}

// newInterval returns what is measured of a version of a fabric, as far as it does not change with the intervals.
func newInterval(g *topology.Graph, cfg Config) interval {
	router := routes.NewRouter(g)
	in := interval{cfg: cfg, graph: g, router: router, reach: newReach(g, router), beside: newLinksBeside(g),
		lastFailed:  map[history.Part]schema.Instant{},
		runningJobs: runningJobs{tenants: make([][]*job, g.NumDevices())}}
	in.finder = root.NewFinder(g, in.router.Grid)
	in.memberships.regions = scratch.NewLists[schema.LinkID, member](g.NumLinks())
	in.overlap.links = scratch.NewMarks[schema.LinkID](g.NumLinks())
	in.countHosts()
	return in
}

// earlierVerdicts are the verdicts of earlier intervals, as far as later ones depend on them, by region.
type earlierVerdicts struct {
	kept  map[uint64]*kept
	means map[uint64]*meanScores // of the scores of causes
	roots map[uint64]*rootVotes
}

// newEarlierVerdicts returns those of no region.
func newEarlierVerdicts() *earlierVerdicts {
	return &earlierVerdicts{kept: map[uint64]*kept{}, means: map[uint64]*meanScores{}, roots: map[uint64]*rootVotes{}}
}

// forget drops the verdicts on regions that are gone: kept ones after a window, the rest sooner.
func (e *earlierVerdicts) forget(now, window int64) {
	maps.DeleteFunc(e.kept, func(_ uint64, k *kept) bool { return now-k.seen > window })
	maps.DeleteFunc(e.means, func(_ uint64, m *meanScores) bool { return now-m.seen > meanIntervals })
	maps.DeleteFunc(e.roots, func(_ uint64, r *rootVotes) bool { return now-r.seen > meanIntervals })
}

// countHosts lists the hosts of the fabric, and counts those of its smallest leaf switch.
func (in *interval) countHosts() {
	leaves := map[topology.DeviceID]int{}
	in.hosts = in.graph.Hosts()
	for _, d := range in.hosts {
		for _, leaf := range in.router.LeavesOf(d) {
			leaves[leaf]++
		}
	}
	in.smallestLeaf = 0
	for _, n := range leaves {
		if in.smallestLeaf == 0 || n < in.smallestLeaf {
			in.smallestLeaf = n
		}
	}
}

// perSecond is bytes of an interval as a rate, bytes/s.
func (in *interval) perSecond(bytes float64) float64 {
	return bytes * 1e9 / float64(in.history.Clock.Duration)
}
