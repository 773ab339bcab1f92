package tracking

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Result is the result of a step. It belongs to the tracker and is valid until the next
// step.
type Result struct {
	Regions     []schema.Region        // the input, with ID, AgeIntervals and BirthNanos set
	Forecasts   []schema.Forecast      // by region
	Transitions []schema.Transition    // of all regions, since the previous interval
	Events      []schema.Event         // by time, then region
	Network     schema.NetworkForecast // the highest severity, and its forecast
	// Congestion is the regions congestion event that is open or ended with this step;
	// nil if there is none.
	Congestion *CongestionEvent
}

// Tracker assigns identities to the regions of successive intervals. It is not safe for
// concurrent use.
type Tracker struct {
	fabric       string
	graphVersion uint64
	cfg          Config

	last    schema.Interval // of the last step; zero duration before the first
	lastID  uint64
	tracks  []*track // by ID
	free    []*track
	match   matcher
	network network
	model   model
	result  Result
	snap    *schema.Snapshot // of the current step; nil if unknown
}

// track is a region over time.
type track struct {
	id         uint64
	metric     schema.Metric
	links      []schema.LinkID // ascending
	name       string
	birthNanos int64
	seenNanos  int64           // end of the last interval in which it was seen
	severity   schema.Severity // when it was last seen, or of what it merged into
	debounce   debounce
	merged     bool // part of another region
	reporting  reporting
	means      [trendSpan]float64
	numMeans   int       // number of valid means, the newest last
	pending    []pending // forecasts with unknown outcome, oldest first
}

// New returns a tracker for one version of a fabric.
func New(g *topology.Graph, cfg Config) (*Tracker, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Tracker{fabric: g.Fabric(), graphVersion: g.Version(), cfg: cfg, match: newMatcher(g.NumLinks())}, nil
}

// Step sets the identities of the regions of an interval, in place. Intervals without
// regions must be passed too; an omitted one counts as an outage, from which nothing is
// learned. Links that the graph does not have are ignored, a NaN mean counts as 0. Step
// panics if the interval has no duration or is not after the last: the caller closes
// intervals in order.
func (t *Tracker) Step(interval schema.Interval, regions []schema.Region) *Result {
	if err := t.check(interval); err != nil {
		panic(err)
	}
	t.expire(interval)
	t.match.find(t.tracks, regions)
	t.match.assign(t.tracks, t.last.EndNanos(), t.cfg.MinOverlap)
	t.advance(interval, regions)
	return &t.result
}

// StepOf is Step for the regions of a snapshot: if a region ends, the event says how many of its links have no readings.
func (t *Tracker) StepOf(snap *schema.Snapshot, regions []schema.Region) *Result {
	t.snap = snap
	result := t.Step(snap.Interval, regions)
	t.snap = nil
	return result
}

// unreadOf is the number of links of a region that ended which are not measured.
func (t *Tracker) unreadOf(tr *track) int {
	if t.snap == nil {
		return 0
	}
	series, n := t.snap.Find(tr.metric), 0
	for _, l := range tr.links {
		if series == nil || !series.Valid.Has(int(l)) {
			n++
		}
	}
	return n
}

// check rejects an interval that cannot follow the last one.
func (t *Tracker) check(interval schema.Interval) error {
	if interval.DurationNanos <= 0 || interval.EndNanos() < interval.StartNanos || t.last.DurationNanos > 0 && interval.StartNanos < t.last.EndNanos() {
		return fmt.Errorf("tracking: interval %s of fabric %s after %s: intervals must have a length and come in order", interval, t.fabric, t.last)
	}
	return nil
}

// Restore processes a stored interval, with the identities of its regions. After at least the last GapIntervals+LaterIntervals
// stored intervals, in order, the tracker continues with the same identities, ages, births, trends and events as without a
// restart. State that may be older requires Save and Load: odds, transitions, the severity last reported, whether a flickering
// region has been reported, and the beginning of a congestion event. After Load, restore the intervals stored since. Regions
// without an identity get one, in place. It fails, and ignores the interval, if the interval is not after the last or an
// identity occurs twice.
func (t *Tracker) Restore(interval schema.Interval, regions []schema.Region) error {
	if err := t.check(interval); err != nil {
		return err
	}
	seen := map[uint64]bool{}
	for i := range regions {
		if id := regions[i].ID; id != 0 && seen[id] {
			return fmt.Errorf("tracking: interval %s of fabric %s: two regions have the identity %d", interval, t.fabric, id)
		}
		seen[regions[i].ID] = true
	}
	for i := range regions {
		t.lastID = max(t.lastID, regions[i].ID)
	}
	t.expire(interval)
	t.match.find(t.tracks, regions)
	t.match.assignStored(t.tracks, regions, t.cfg.MinOverlap)
	t.advance(interval, regions)
	slices.SortFunc(t.tracks, func(a, b *track) int { return cmp.Compare(a.id, b.id) })
	return nil
}

// expire starts a step by ending the tracks that were unseen for too long due to an
// outage, or left without links by SetGraph.
func (t *Tracker) expire(interval schema.Interval) {
	t.result.Events, t.network.transitions = t.result.Events[:0], t.network.transitions[:0]
	t.tracks = slices.DeleteFunc(t.tracks, func(tr *track) bool {
		outage := (interval.StartNanos - tr.seenNanos) / interval.DurationNanos
		if len(tr.links) > 0 && outage <= int64(t.cfg.GapIntervals) {
			return false
		}
		t.endTrack(tr, interval)
		return true
	})
}

// endTrack reports the end of a track that cannot reappear.
func (t *Tracker) endTrack(tr *track, interval schema.Interval) {
	t.reportEnd(tr, interval)
	t.free = append(t.free, tr)
}

// advance updates the whole state for an interval, after matching.
func (t *Tracker) advance(interval schema.Interval, regions []schema.Region) {
	steady := t.last.DurationNanos == interval.DurationNanos && t.last.EndNanos() == interval.StartNanos
	t.result.Regions = regions
	t.result.Forecasts = scratch.Slice(t.result.Forecasts, len(regions))
	t.match.relate(t.tracks, t.last.EndNanos())

	known := len(t.tracks)
	for k, tr := range t.tracks {
		t.learn(tr, t.match.successor[k], interval, regions, steady)
	}
	for _, r := range t.match.order {
		if k := t.match.ancestor[r]; k >= 0 {
			t.continueTrack(t.tracks[k], int(r), interval, steady)
		} else {
			t.beginTrack(int(r), interval, steady)
		}
	}
	kept := t.tracks[:0]
	for k, tr := range t.tracks {
		if k < known && t.match.successor[k] < 0 && !t.keepUnseen(tr, t.match.into[k], interval, steady) {
			continue
		}
		kept = append(kept, tr)
	}
	clear(t.tracks[len(kept):])
	t.tracks = kept
	t.result.Network, t.result.Congestion = t.network.step(interval, regions, steady, t.cfg.EventWindow.Nanoseconds())
	t.result.Transitions = t.network.transitions
	t.emitRCE(interval)
	slices.SortStableFunc(t.result.Events, func(a, b schema.Event) int {
		return cmp.Or(cmp.Compare(a.TimeNanos, b.TimeNanos), cmp.Compare(a.RegionID, b.RegionID))
	})
	t.last = interval
}

// continueTrack continues a track with a region.
func (t *Tracker) continueTrack(tr *track, r int, interval schema.Interval, steady bool) {
	region, links := &t.result.Regions[r], t.match.links[r]
	severity := severityOf(region)
	elapsed := max(1, (interval.EndNanos()-tr.seenNanos)/interval.DurationNanos)
	t.result.Forecasts[r].GrowthLinks = (len(links) - len(tr.links)) / int(elapsed)
	if steady {
		t.network.addTransition(tr.metric, schema.RegionState(tr.severity), schema.RegionState(severity))
	}
	tr.merged = false
	t.reportSeen(tr, region, interval)
	if elapsed > 1 { // the trend is interrupted
		tr.numMeans = 0
	}
	t.update(tr, r, interval)
}

// beginTrack creates a track for a region that continues none.
func (t *Tracker) beginTrack(r int, interval schema.Interval, steady bool) {
	region := &t.result.Regions[r]
	tr := t.newTrack()
	tr.metric, tr.birthNanos, tr.id, tr.debounce.reported = region.Metric, interval.StartNanos, region.ID, severityOf(region)
	if region.ID == 0 {
		t.lastID = nextID(t.lastID, interval)
		tr.id = t.lastID
	} else if region.BirthNanos != 0 { // stored by an earlier process
		tr.birthNanos = min(region.BirthNanos, interval.StartNanos)
	}
	t.result.Forecasts[r].GrowthLinks = 0
	if steady {
		t.network.addTransition(tr.metric, schema.Gone, schema.RegionState(severityOf(region)))
	}
	if k := t.match.parent[r]; k >= 0 {
		tr.reporting.parent = t.tracks[k].id
	}
	if tr.birthNanos < interval.StartNanos && tr.age(interval) >= t.cfg.DebounceIntervals {
		tr.reporting.reported = asApart // by the earlier process
	}
	t.reportSeen(tr, region, interval)
	t.tracks = append(t.tracks, tr)
	t.update(tr, r, interval)
}

// nextID returns an ID that is unique in the fabric, ascending, the same in every
// replay, and exact in a float64: the second of birth, then a number within it.
func nextID(last uint64, birth schema.Interval) uint64 {
	return max(last, uint64(max(0, birth.StartNanos/1e9))<<20) + 1
}

func (t *Tracker) newTrack() *track {
	if n := len(t.free); n > 0 {
		tr := t.free[n-1]
		t.free = t.free[:n-1]
		*tr = track{links: tr.links[:0], pending: tr.pending[:0]}
		return tr
	}
	return &track{}
}

// update copies the current state between the track and the region, and makes forecasts.
func (t *Tracker) update(tr *track, r int, interval schema.Interval) {
	region := &t.result.Regions[r]
	tr.links = append(tr.links[:0], t.match.links[r]...)
	tr.name, tr.severity, tr.seenNanos = region.Name, severityOf(region), interval.EndNanos()
	tr.addMean(meanOf(region))
	region.ID, region.BirthNanos, region.AgeIntervals = tr.id, tr.birthNanos, tr.age(interval)

	out := &t.result.Forecasts[r]
	out.TrendPercent = tr.trend()
	p := pending{startNanos: interval.StartNanos, severity: tr.severity, mean: meanOf(region), trend: out.TrendPercent}
	p.bucket = bucketOf(p.mean, p.trend, region.AgeIntervals)
	p.next, p.later = t.model.next.odds(&p), t.model.later.odds(&p)
	out.Next, out.Later = p.next, p.later
	tr.pending = append(tr.pending, p)
}

// keepUnseen reports whether a track that no region continues is kept.
func (t *Tracker) keepUnseen(tr *track, into int32, interval schema.Interval, steady bool) bool {
	if into >= 0 {
		region := &t.result.Regions[into]
		tr.reporting.merging = mergedInto(tr, region, t.last)
		if steady {
			t.network.addTransition(tr.metric, schema.RegionState(tr.severity), schema.RegionState(severityOf(region)))
		}
		tr.merged, tr.severity = true, severityOf(region)
	}
	t.reportUnseen(tr, interval)
	if (interval.EndNanos()-tr.seenNanos)/interval.DurationNanos <= int64(t.cfg.GapIntervals) {
		return true
	}
	if steady {
		t.learnGone(tr)
		if !tr.merged {
			t.network.addTransition(tr.metric, schema.RegionState(tr.severity), schema.Gone)
		}
	}
	t.endTrack(tr, interval)
	return false
}

func (t *Tracker) event(nanos int64, kind schema.EventKind, id uint64, detail string) {
	t.result.Events = append(t.result.Events, schema.Event{TimeNanos: nanos, Fabric: t.fabric, Kind: kind, RegionID: id, Detail: detail})
}

// age is the number of intervals since birth, starting with 1 and including those in
// which the track was not seen.
func (tr *track) age(interval schema.Interval) int {
	return int((interval.StartNanos-tr.birthNanos)/interval.DurationNanos) + 1
}

// severityOf is the region's severity, clipped for use as an index.
func severityOf(r *schema.Region) schema.Severity { return min(r.Severity, schema.High) }

// meanOf is the region's mean, clipped for use in sums.
func meanOf(r *schema.Region) float64 {
	if math.IsNaN(r.Mean) {
		return 0
	}
	return min(max(r.Mean, 0), 100)
}
