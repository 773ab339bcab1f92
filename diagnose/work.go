package diagnose

import (
	"math"

	"github.com/giverny/giverny/diagnose/correlation"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// work is scratch memory shared by the regions of an interval and by successive intervals.
type work struct {
	cases         []regionCase // of this interval
	running       []*job       // of this interval, by id
	comparable    bool         // traffic of jobs and of links is measured alike
	loads         bool         // the load of links is measured
	round         uint32
	around        []*job   // within cfg.Hops of a region, nearest first
	near          []*job   // scratch of nearest
	readers       []*job   // whose file traffic is an outlier, the most first
	tenants       [][]*job // by device: the jobs with nodes there or, for a switch, at its hosts
	settled       []topology.DeviceID
	taken         int                 // of these, switches
	vacant        []topology.DeviceID // hosts without a job in interval vacantIn
	vacantIn      uint32
	interval      uint32 // of the jobs' maxima
	before, after []float64
	own, theirs   []float64 // by link of the region (expectedLoads)
	values        []float64
	usual         [numMeasured]usualSpread // over all running jobs
	lagged        []*lagged                // of the jobs' features in this interval, the first laggedUsed
	laggedUsed    int
	correlator    correlation.Correlator
	finder        *root.Finder
	senders       []root.Sender // of the current region (findSenders)
	sending       []*job        // whose these are
	past          past
	gaps          gaps
	averages      averages
	onWay         onWay
	silent        []silent        // cables that are dead by their counters in this interval
	quiet         []schema.LinkID // scratch of silent
	back          []schema.LinkID // by link: that of its cable in the other direction
	grounds       []uint32        // by link: the round in which it had a switch in common with a region
	groundRound   uint32
	shared        []shared // by case: with the region of the round
	beside        []int32  // the cases with any

	// The regions of each link, as compressed sparse rows over the links that are in one.
	first   []int32 // by link: its index in entries plus 1; 0: none
	entries []entry
	marked  []schema.LinkID

	sums    []sums // by case
	touched []int32
}

// entry is a link's membership in a region; those of one link are chained.
type entry struct {
	member
	next int32 // index of the next plus 1
}

type member struct {
	cas           int32
	weight, waits float64
}

// sums are what a job's routes have in common with a region.
type sums struct {
	on                              bool
	cross, gate, load, waits, worst float64
}

func newWork(g *topology.Graph, grid *routes.Grid) work {
	return work{finder: root.NewFinder(g, grid), first: make([]int32, g.NumLinks()), tenants: make([][]*job, g.NumDevices()), past: newPast(g.NumLinks()), grounds: make([]uint32, g.NumLinks())}
}

// index records which regions each link is in.
func (w *work) index(cases []regionCase) {
	for _, l := range w.marked {
		w.first[l] = 0
	}
	w.marked, w.entries = w.marked[:0], w.entries[:0]
	for c := range cases {
		for i, l := range cases[c].region.Links {
			if w.first[l] == 0 {
				w.marked = append(w.marked, l)
			}
			w.entries = append(w.entries, entry{member{int32(c), cases[c].weight[i], cases[c].waits[i]}, w.first[l]})
			w.first[l] = int32(len(w.entries))
		}
	}
}

// of ranges over the regions of a link.
func (w *work) of(l schema.LinkID) func(yield func(int, member) bool) {
	return func(yield func(int, member) bool) {
		for at := w.first[l]; at != 0; at = w.entries[at-1].next {
			if !yield(int(at), w.entries[at-1].member) {
				return
			}
		}
	}
}

// begin clears the sums of the previous job.
func (w *work) begin(cases int) {
	for _, c := range w.touched {
		w.sums[c] = sums{}
	}
	w.touched = w.touched[:0]
	for len(w.sums) < cases {
		w.sums = append(w.sums, sums{})
	}
}

func (w *work) touch(c int32) *sums {
	s := &w.sums[c]
	if !s.on {
		s.on = true
		w.touched = append(w.touched, c)
	}
	return s
}

// begin sets up the case of a region, in memory reused from the previous interval.
func (s *Stage) begin(rc *regionCase, snap *schema.Snapshot, region *schema.Region) {
	*rc = regionCase{region: region, onset: -1, again: -1, stall: rc.stall[:0], weight: rc.weight[:0], waits: rc.waits[:0], added: rc.added[:0], jobs: rc.jobs[:0], failures: rc.failures[:0]}
	levels := s.memory.metrics[region.Metric]
	seen := min(int64(s.cfg.Window), s.clock.now-s.clock.first+1)
	for slot := s.clock.now - seen + 1; slot <= s.clock.now; slot++ {
		v := math.NaN()
		if levels != nil {
			if m := levels.mean(slot, region.Links); !isMissing(m) {
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
	if !s.graph.Duplex() {
		if first := onsetOf(rc.stall, longPause); first >= 0 {
			rc.onset = first
		}
		if rc.onset >= 0 && s.before(rc).n == 0 {
			rc.onset = -1 // nothing is remembered to compare it with
		}
		if rc.onset < 0 {
			if at := s.stepUp(rc); at >= 0 { // its beginning moves to the failure
				rc.onset, rc.again = at, at
			}
		}
	}
	rc.old = rc.onset < 0 && seen >= correlation.LeastPairs
}
