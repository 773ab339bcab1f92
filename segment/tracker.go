package segment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TrackConfig says how regions are followed.
type TrackConfig struct {
	// GapIntervals is for how many intervals a region may be unseen and come
	// back as itself.
	GapIntervals int
	// MinOverlap is the share of the smaller of two regions that both must have
	// in common, strictly exceeded, to be one region in successive intervals.
	MinOverlap float64
}

// DefaultTrackConfig follows the authors' released program, which asks for more
// than half of the smaller region, and bridges two intervals.
func DefaultTrackConfig() TrackConfig { return TrackConfig{GapIntervals: 2, MinOverlap: .5} }

// Validate reports all that is wrong with the configuration.
func (c *TrackConfig) Validate() error {
	var errs []error
	if c.GapIntervals < 0 || c.GapIntervals > 1000 {
		errs = append(errs, fmt.Errorf("segment: gap of %d intervals: want 0 to 1000", c.GapIntervals))
	}
	if !(c.MinOverlap >= 0 && c.MinOverlap < 1) {
		errs = append(errs, fmt.Errorf("segment: min overlap %v: want a share from 0 to less than 1", c.MinOverlap))
	}
	return errors.Join(errs...)
}

// Tracked is what a step of a Tracker found. It belongs to the tracker and
// holds until the next step.
type Tracked struct {
	Regions   []schema.Region // those given, with ID, AgeIntervals and BirthNanos set
	Events    []schema.Event  // births, merges, splits and ends, by time
	State     NetworkState
	Forecasts []Forecast // by region
}

// NetworkState is the congestion of a whole fabric in an interval.
type NetworkState struct {
	Severity schema.Severity // of the highest region (Monet, section 5.1)
	Regions  [4]int          // by severity
	Links    [4]int          // in regions, by severity; those in no region are not counted
}

// Forecast is the probability that a region will be at each severity.
type Forecast struct {
	Next  [4]float64 // in the next interval
	Later [4]float64 // in five intervals
}

// Tracker gives the regions of successive intervals their identity. It is not
// safe for concurrent use.
type Tracker struct {
	fabric string
	cfg    TrackConfig

	tracks []track
	result Tracked

	head, next   []int32 // links to the tracks that hold them, chained
	holder       []int32
	shared       []int32 // by track: links in common with the region at hand
	touched      []int32
	pairs        []pair
	successorOf  []int32 // by track: region, or -1
	ancestorOf   []int32 // by region: track, or -1
	survivors    []track
	intervalSeen bool
}

// track is a region over time.
type track struct {
	id         uint64
	metric     schema.Metric
	links      []schema.LinkID
	birthNanos int64
	seenNanos  int64 // end of the last interval that had it
	age        int   // intervals since birth, the first counting 1
	unseen     int   // intervals since seen
	severity   schema.Severity
}

// pair is a region of now that may continue a track.
type pair struct {
	region, track int32
	shared        int32
	jaccard       float64
}

// NewTracker makes a tracker for one version of a fabric.
func NewTracker(g *topology.Graph, cfg TrackConfig) (*Tracker, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	t := &Tracker{fabric: g.Fabric(), cfg: cfg, head: make([]int32, g.NumLinks())}
	for i := range t.head {
		t.head[i] = -1
	}
	return t, nil
}

// Step gives the regions of an interval their identity, in place. Intervals
// must come in order; those without regions must come too.
func (t *Tracker) Step(interval schema.Interval, regions []schema.Region) *Tracked {
	t.result.Regions, t.result.Events = regions, t.result.Events[:0]
	t.findPairs(regions)
	t.assign(len(regions))
	t.update(interval, regions)
	t.result.State = stateOf(regions)
	t.result.Forecasts = resize(t.result.Forecasts, len(regions))
	for i := range regions {
		f := &t.result.Forecasts[i]
		*f = Forecast{}
		f.Next[regions[i].Severity], f.Later[regions[i].Severity] = 1, 1
	}
	return &t.result
}

// findPairs lists the regions and tracks that have enough links in common.
func (t *Tracker) findPairs(regions []schema.Region) {
	t.next, t.holder = t.next[:0], t.holder[:0]
	for i := range t.tracks {
		for _, l := range t.tracks[i].links {
			t.next = append(t.next, t.head[l])
			t.holder = append(t.holder, int32(i))
			t.head[l] = int32(len(t.next) - 1)
		}
	}
	t.pairs = t.pairs[:0]
	t.shared = resize(t.shared, len(t.tracks))
	clear(t.shared)
	for r := range regions {
		t.touched = t.touched[:0]
		for _, l := range regions[r].Links {
			for e := t.head[l]; e >= 0; e = t.next[e] {
				k := t.holder[e]
				if t.tracks[k].metric != regions[r].Metric {
					continue
				}
				if t.shared[k] == 0 {
					t.touched = append(t.touched, k)
				}
				t.shared[k]++
			}
		}
		for _, k := range t.touched {
			a, b, n := len(regions[r].Links), len(t.tracks[k].links), int(t.shared[k])
			if float64(n) > t.cfg.MinOverlap*float64(min(a, b)) {
				t.pairs = append(t.pairs, pair{int32(r), k, int32(n), float64(n) / float64(a+b-n)})
			}
			t.shared[k] = 0
		}
	}
	for i := range t.tracks {
		for _, l := range t.tracks[i].links {
			t.head[l] = -1
		}
	}
}

// assign lets each track continue in one region at most, and each region
// continue one track, likest first, then the older track.
func (t *Tracker) assign(regions int) {
	t.successorOf, t.ancestorOf = resize(t.successorOf, len(t.tracks)), resize(t.ancestorOf, regions)
	for i := range t.successorOf {
		t.successorOf[i] = -1
	}
	for i := range t.ancestorOf {
		t.ancestorOf[i] = -1
	}
	slices.SortFunc(t.pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.jaccard, a.jaccard), cmp.Compare(t.tracks[a.track].id, t.tracks[b.track].id),
			cmp.Compare(a.region, b.region))
	})
	for _, p := range t.pairs {
		if t.successorOf[p.track] < 0 && t.ancestorOf[p.region] < 0 {
			t.successorOf[p.track], t.ancestorOf[p.region] = p.region, p.track
		}
	}
}

func (t *Tracker) event(nanos int64, kind schema.EventKind, id uint64, detail string) {
	t.result.Events = append(t.result.Events, schema.Event{TimeNanos: nanos, Fabric: t.fabric, Kind: kind, RegionID: id, Detail: detail})
}

// update carries tracks on, begins new ones and ends those long unseen.
func (t *Tracker) update(interval schema.Interval, regions []schema.Region) {
	t.survivors = t.survivors[:0]
	sequence := uint64(0)
	for r := range regions {
		region := &regions[r]
		if k := t.ancestorOf[r]; k >= 0 {
			tr := &t.tracks[k]
			tr.age += tr.unseen + 1
			tr.unseen = 0
		}
		_ = sequence
		region.ID = 0
	}
	sequence = 0
	for r := range regions {
		region := &regions[r]
		k := t.ancestorOf[r]
		if k < 0 {
			sequence++
			tr := track{id: regionID(interval, sequence), metric: region.Metric, birthNanos: interval.StartNanos, age: 1}
			tr.links = append(tr.links, region.Links...)
			tr.seenNanos, tr.severity = interval.EndNanos(), region.Severity
			t.survivors = append(t.survivors, tr)
			t.event(interval.StartNanos, schema.RegionBorn, tr.id, "")
		} else {
			tr := t.tracks[k]
			tr.links = append(tr.links[:0], region.Links...)
			tr.seenNanos, tr.severity = interval.EndNanos(), region.Severity
			t.survivors = append(t.survivors, tr)
		}
		last := &t.survivors[len(t.survivors)-1]
		region.ID, region.AgeIntervals, region.BirthNanos = last.id, last.age, last.birthNanos
	}
	for k := range t.tracks {
		if t.successorOf[k] >= 0 {
			continue
		}
		tr := t.tracks[k]
		tr.unseen++
		if tr.unseen > t.cfg.GapIntervals {
			t.event(tr.seenNanos, schema.RegionEnded, tr.id, "")
			continue
		}
		t.survivors = append(t.survivors, tr)
	}
	t.tracks, t.survivors = t.survivors, t.tracks
}

// regionID is unique in the fabric, the same in every replay, and exact in a
// float64: the second of birth, then a number within it.
func regionID(birth schema.Interval, sequence uint64) uint64 {
	return uint64(birth.StartNanos/1e9)<<20 | sequence
}

func stateOf(regions []schema.Region) (s NetworkState) {
	for i := range regions {
		v := regions[i].Severity
		s.Regions[v]++
		s.Links[v] += regions[i].Size
		s.Severity = max(s.Severity, v)
	}
	return s
}
