package tracking_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/tracking"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

const minute = int64(60e9)

func minuteAt(i int) schema.Interval {
	return schema.Interval{StartNanos: 1_700_000_040e9 + int64(i)*minute, DurationNanos: minute}
}

func torus(tb testing.TB, spec string) *topology.Graph {
	tb.Helper()
	return topologytest.Parse(tb, "lily", spec)
}

func newTracker(tb testing.TB) *tracking.Tracker {
	tb.Helper()
	t, err := tracking.New(torus(tb, "torus:8x8x8"), tracking.DefaultConfig())
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// region has the links from a to before b, and a mean.
func region(a, b int, mean float64) schema.Region {
	r := schema.Region{Metric: schema.CreditStall, Size: b - a, Mean: mean, Max: mean, Severity: schema.SeverityOf(mean), Name: fmt.Sprintf("%d-%d", a, b)}
	for l := a; l < b; l++ {
		r.Links = append(r.Links, schema.LinkID(l))
	}
	return r
}

func regions(r ...schema.Region) []schema.Region { return r }

// Each line of a story is an interval; regions are named by their links, "a:b" or
// "a:b@mean"; wanted are the ordinals of the identities in order of birth, and the
// events.
func TestIdentity(t *testing.T) {
	type line struct{ regions, ids, events string }
	tests := map[string][]line{
		"stays while it transitions": {{"0:40", "1", ""}, {"10:50", "1", "born 1"}, {"20:60", "1", ""}},
		"half of the smaller is not enough": {{"0:40", "1", ""}, {"0:40", "1", "born 1"}, {"20:60", "2", ""}, {"20:60", "2", "born 2"},
			{"20:60", "2", "ended 1"}},
		"grows over it":           {{"0:20", "1", ""}, {"0:400", "1", "born 1"}, {"10:30", "1", ""}},
		"split: the largest part": {{"0:100", "1", ""}, {"0:40 41:100", "2 1", "born 1"}, {"0:40 41:100", "2 1", "split 2"}},
		"merge: the older": {{"0:30", "1", ""}, {"0:30 40:80", "1 2", "born 1"}, {"0:30 40:80", "1 2", "born 2"}, {"0:80", "1", ""}, {"0:80", "1", "merged 2"},
			{"0:80", "1", ""}, {"0:80", "1", ""}, {"0:30 40:80", "3 1", ""}, {"0:30 40:80", "3 1", "split 3"}},
		"merge: no speck takes a giant over": {{"0:20", "1", ""}, {"0:20 30:200", "1 2", "born 1"}, {"0:200", "2", "born 2"}, {"0:200", "2", "merged 1"}},
		"merge: comes apart within the gap": {{"0:30 40:80", "2 1", ""}, {"0:30 40:80", "2 1", "born 1, born 2"},
			{"0:80", "1", ""}, {"0:80", "1", "merged 2"}, {"0:30 40:80", "2 1", ""}, {"0:30 40:80", "2 1", "split 2"}, {"0:30 40:80", "2 1", ""}},
		"merge: flaps": {{"0:30 40:80", "2 1", ""}, {"0:30 40:80", "2 1", "born 1, born 2"}, {"0:80", "1", ""}, {"0:30 40:80", "2 1", ""}, {"0:80", "1", ""},
			{"0:30 40:80", "2 1", ""}, {"0:30 40:80", "2 1", ""}},
		"merge: ends unreported":              {{"0:30 40:80", "2 1", ""}, {"0:80", "1", "born 1"}, {"0:80", "1", ""}, {"0:80", "1", ""}, {"0:80", "1", ""}},
		"flickers":                            {{"0:40", "1", ""}, {"", "", ""}, {"0:40", "1", ""}, {"", "", ""}, {"0:40", "1", ""}, {"", "", ""}, {"", "", ""}, {"", "", ""}},
		"flickers, then stays":                {{"0:40", "1", ""}, {"", "", ""}, {"0:40", "1", ""}, {"0:40", "1", "born 1"}},
		"seen once":                           {{"0:40", "1", ""}, {"", "", ""}, {"", "", ""}, {"", "", ""}, {"", "", ""}},
		"gives way and has a part of its own": {{"0:40", "1", ""}, {"0:40 40:140", "1 2", "born 1"}, {"0:100 100:140", "1 2", "born 2"}},
		"gap":                                 {{"0:40", "1", ""}, {"0:40", "1", "born 1"}, {"", "", ""}, {"", "", ""}, {"0:40", "1", ""}},
		"longer than gap":                     {{"0:40", "1", ""}, {"0:40", "1", "born 1"}, {"", "", ""}, {"", "", ""}, {"", "", "ended 1"}, {"0:40", "2", ""}, {"0:40", "2", "born 2"}},
		"most alike first":                    {{"0:40 50:90", "1 2", ""}, {"0:40 30:90", "1 2", "born 1, born 2"}},
		"severity": {{"0:40@10", "1", ""}, {"0:40@10", "1", "born 1"}, {"0:40@20", "1", ""}, {"0:40@21", "1", "severity 1"}, {"0:40@30", "1", ""}, {"0:40@20", "1", ""},
			{"0:40@30", "1", ""}, {"", "", ""}, {"0:40@30", "1", "severity 1"}},
	}
	for name, story := range tests {
		t.Run(name, func(t *testing.T) {
			tr := newTracker(t)
			ordinal := map[uint64]int{}
			for i, l := range story {
				var in []schema.Region
				for _, f := range strings.Fields(l.regions) {
					var a, b int
					mean := 10.
					if n, _ := fmt.Sscanf(f, "%d:%d@%g", &a, &b, &mean); n < 2 {
						t.Fatalf("region %q", f)
					}
					in = append(in, region(a, b, mean))
				}
				res := tr.Step(minuteAt(i), in)
				fresh := []uint64{}
				for _, r := range res.Regions {
					if _, known := ordinal[r.ID]; !known {
						fresh = append(fresh, r.ID)
					}
				}
				slices.Sort(fresh)
				for _, id := range fresh {
					n := len(ordinal) + 1
					ordinal[id] = n
				}
				var ids, events []string
				res.Events = slices.DeleteFunc(res.Events, func(e schema.Event) bool { return e.RegionID == 0 })
				for _, r := range res.Regions {
					ids = append(ids, fmt.Sprint(ordinal[r.ID]))
				}
				for _, e := range res.Events {
					events = append(events, fmt.Sprintf("%s %d", strings.TrimPrefix(string(e.Kind), "region_"), ordinal[e.RegionID]))
				}
				if got := strings.Join(ids, " "); got != l.ids {
					t.Errorf("interval %d: identities %q, want %q", i, got, l.ids)
				}
				if got := strings.Join(events, ", "); got != l.events {
					t.Errorf("interval %d: events %q, want %q", i, got, l.events)
				}
			}
		})
	}
}

// Events name the location of the root, not its kind, since the list of regions may name it an incast a moment later.
func TestEventsOfANamedRoot(t *testing.T) {
	tr := newTracker(t)
	for i := range 3 {
		incast := region(0, 100, 30)
		incast.Name = "congestion tree at leaf7 port 9 (host56), from pods 0-2"
		for _, e := range tr.Step(minuteAt(i), regions(incast)).Events {
			if e.Kind != schema.RegionBorn {
				continue
			}
			if want := "High credit_stall region at leaf7 port 9 (host56), from pods 0-2, 100 links"; e.Detail != want {
				t.Errorf("%q, want %q", e.Detail, want)
			}
			return
		}
	}
	t.Error("no region was born")
}

// The end and the change of severity of a region whose links have no readings say so.
func TestEventTextsOfUnreadLinks(t *testing.T) {
	tr := newTracker(t)
	snap := &schema.Snapshot{Links: 100, Series: []schema.Series{{Metric: schema.CreditStall, Values: make([]float32, 100), Valid: schema.NewBitmap(100)}}}
	for l := 40; l < 100; l++ {
		snap.Series[0].Valid.Set(l)
	}
	var got []string
	for i := range 16 {
		var seen []schema.Region
		switch {
		case i < 3:
			seen = regions(region(0, 50, 30))
		case i < 6:
			seen = regions(region(10, 50, 20))
			seen[0].Unread = 10
		}
		snap.Interval = minuteAt(i)
		for _, e := range tr.StepOf(snap, seen).Events {
			if e.Kind == schema.RegionSeverity || e.Kind == schema.RegionEnded {
				got = append(got, e.Detail)
			}
		}
	}
	want := []string{"Medium credit_stall region at 10-50, 40 links (10 without readings), was High: mean stall now 20.0%",
		"Medium credit_stall region at 10-50, 40 links, is gone after 6 intervals: 30 of them have no readings, so it may continue"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEventTexts(t *testing.T) {
	tr := newTracker(t)
	steps := [][]schema.Region{
		regions(region(0, 100, 10)), regions(region(0, 100, 10)), regions(region(0, 40, 10), region(41, 100, 20)), regions(region(0, 40, 10), region(41, 100, 10)),
		regions(region(0, 100, 30)), regions(region(0, 100, 20)), regions(region(0, 40, 10), region(41, 100, 30)), regions(region(0, 40, 10), region(41, 100, 30)),
		nil, nil, nil, nil, nil, nil,
	}
	var got []string
	for i, s := range steps {
		for _, e := range tr.Step(minuteAt(i), s).Events {
			if e.Fabric != "lily" || (e.RegionID == 0) != (e.Kind == schema.CongestionBegan || e.Kind == schema.CongestionEnded) {
				t.Errorf("event %+v names no region of the fabric", e)
			}
			got = append(got, fmt.Sprintf("%d %s: %s", (e.TimeNanos-minuteAt(0).StartNanos)/minute, e.Kind, e.Detail))
		}
	}
	first := uint64(1_700_000_040)<<20 + 1
	second := uint64(1_700_000_160)<<20 + 1
	want := []string{
		"0 region_born: Low credit_stall region at 0-100, 100 links",
		fmt.Sprintf("2 region_split: Low credit_stall region at 0-40, 40 links, has split from region %d", first),
		"4 congestion_began: congestion event: a region is High, mean stall 30.0%",
		fmt.Sprintf("4 region_merged: Low credit_stall region at 0-40, 40 links, merged into region %d at 0-100 after 2 intervals", first),
		"5 region_severity: Medium credit_stall region at 0-100, 100 links, was Low: mean stall now 20.0%",
		"6 region_split: Low credit_stall region at 0-40, 40 links, split again from the region it had merged into",
		"7 region_severity: High credit_stall region at 41-100, 59 links, was Medium: mean stall now 30.0%",
		"8 region_ended: High credit_stall region at 41-100, 59 links, is gone after 8 intervals",
		"8 region_ended: Low credit_stall region at 0-40, 40 links, is gone after 6 intervals",
		"8 congestion_ended: the congestion event is over after 4 intervals: mean stall of the worst region up to 30.0%",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if second >= 1<<53 {
		t.Error("an identity is not exact in a float64")
	}
}

func TestAgeGrowthAndState(t *testing.T) {
	tr := newTracker(t)
	tr.Step(minuteAt(0), regions(region(0, 40, 10)))
	tr.Step(minuteAt(1), nil)
	inq := region(200, 230, 17)
	inq.Metric = schema.InqStall
	res := tr.Step(minuteAt(2), regions(region(0, 60, 30), inq))
	if r := res.Regions[0]; r.AgeIntervals != 3 || r.BirthNanos != minuteAt(0).StartNanos {
		t.Errorf("age %d, birth %d", r.AgeIntervals, r.BirthNanos)
	}
	if g := res.Forecasts[0].GrowthLinks; g != 10 {
		t.Errorf("growth %d links per interval, want 20 in 2", g)
	}
	if res.Network.Severity != schema.High {
		t.Errorf("network %v", res.Network)
	}
}

func TestTransitions(t *testing.T) {
	tr := newTracker(t)
	var got []schema.Transition
	for i, mean := range []float64{0, 10, 10, 20, 30, 30, 0, 30, 0, 0, 0, 0} {
		var in []schema.Region
		if mean > 0 {
			in = regions(region(0, 40, mean))
		}
		got = append(got, tr.Step(minuteAt(i), in).Transitions...)
	}
	const gone, low, medium, high = schema.Gone, schema.RegionState(schema.Low), schema.RegionState(schema.Medium), schema.RegionState(schema.High)
	var want []schema.Transition
	for _, step := range [][2]schema.RegionState{{gone, low}, {low, low}, {low, medium}, {medium, high}, {high, high}, {high, high}, {high, gone}} {
		want = append(want, schema.Transition{Metric: schema.CreditStall, From: step[0], To: step[1]})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCongestionEvents(t *testing.T) {
	tr := newTracker(t)
	high := func(minutes ...int) func(int) bool { return func(i int) bool { return slices.Contains(minutes, i) } }(2, 3, 8, 15, 16)
	type event struct{ began, minutes int64 }
	var ended []event
	for i := range 30 {
		mean := 10.
		if high(i) {
			mean = 40
		}
		if e := tr.Step(minuteAt(i), regions(region(0, 40, mean))).Congestion; e != nil && e.Ended {
			ended = append(ended, event{(e.BeginNanos - minuteAt(0).StartNanos) / minute, e.DurationNanos() / minute})
		}
	}
	// Between 3 and 8 are four minutes, between 8 and 15 six.
	if want := []event{{2, 7}, {15, 2}}; !slices.Equal(ended, want) {
		t.Errorf("events %v, want %v", ended, want)
	}
}

func TestOutageTeachesNothing(t *testing.T) {
	tr := newTracker(t)
	transitions := 0
	step := func(now int, mean float64) *tracking.Result {
		res := tr.Step(minuteAt(now), regions(region(0, 40, mean)))
		if transitions += len(res.Transitions); now == 0 { // the birth: there was nothing before
			transitions = 0
		}
		return res
	}
	step(0, 10)
	first := step(1, 10).Regions[0].ID
	if got := step(3, 20).Regions[0]; got.ID != first || got.AgeIntervals != 4 {
		t.Errorf("after one lost interval: %d of age %d, want %d of age 4", got.ID, got.AgeIntervals, first)
	}
	res := step(30, 20)
	if got := res.Regions[0]; got.ID == first || got.AgeIntervals != 1 || len(res.Events) != 1 || res.Events[0].TimeNanos != minuteAt(4).StartNanos {
		t.Errorf("after an outage longer than the gap: %d of age %d, %v", got.ID, got.AgeIntervals, res.Events)
	}
	if next, _ := tr.Skill(); transitions != 1 || next.Forecasts != 1 {
		t.Errorf("%d transitions and %d forecasts, want those of the two successive intervals", transitions, next.Forecasts)
	}
}

func TestInputThatShouldNotBe(t *testing.T) {
	tr := newTracker(t)
	odd := []schema.Region{
		{Metric: 255, Links: []schema.LinkID{5, 3, 3, 1 << 31, math.MaxUint32}, Mean: math.NaN(), Max: math.Inf(1), Severity: 200},
		{Metric: schema.CreditStall, Mean: math.Inf(-1)}, {Metric: schema.CreditStall, Mean: math.Inf(1), Links: []schema.LinkID{9, 8, 7}},
	}
	var ids []uint64
	for i := range 12 {
		res := tr.Step(minuteAt(i), slices.Clone(odd))
		for _, o := range res.Forecasts {
			sum := 0.
			for _, p := range o.Next {
				sum += p
			}
			if !(math.Abs(sum-1) < 1e-9) {
				t.Fatalf("odds %v", o.Next)
			}
		}
		ids = append(ids, res.Regions[0].ID, res.Regions[2].ID)
	}
	if ids[0] != ids[22] || ids[1] != ids[23] {
		t.Errorf("identities %v", ids)
	}
	for _, bad := range []schema.Interval{minuteAt(11), minuteAt(3), {}, {StartNanos: math.MaxInt64, DurationNanos: 5}} {
		if err := tr.Restore(bad, nil); err == nil {
			t.Errorf("interval %s: %v", bad, err)
		}
	}
	twice := region(0, 30, 10)
	twice.ID = 7
	if err := tr.Restore(minuteAt(12), regions(twice, twice)); err == nil {
		t.Error("a duplicated identity is accepted")
	}
}

func TestValidate(t *testing.T) {
	bad := tracking.Config{GapIntervals: -1, MinOverlap: math.NaN(), EventWindow: -time.Second}
	if err := bad.Validate(); err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("want four faults: %v", err)
	}
	hot := tracking.HotspotConfig{ThresholdsPercent: []float64{5, 5}, GapIntervals: -1, ListLinks: -1}
	if err := hot.Validate(); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("want three faults: %v", err)
	}
}

// Identities are unique in the fabric, also between metrics on the same links and of the same interval: feedback, store and API
// identify a region by its ID alone.
func TestIdentitiesOfTwoMetricsDiffer(t *testing.T) {
	tr, metricOf := newTracker(t), map[uint64]schema.Metric{}
	for i := range 6 {
		stall, inside := region(0, 40, 30), region(0, 40, 30)
		inside.Metric = schema.InqStall
		in := regions(stall, inside)
		if i%2 == 1 {
			in = regions(inside, stall, region(100+i*20, 110+i*20, 40))
		}
		tr.Step(minuteAt(i), in)
		for _, r := range in {
			if metric, known := metricOf[r.ID]; r.ID == 0 || known && metric != r.Metric {
				t.Errorf("interval %d: region %d is one of %v and of %v", i, r.ID, metric, r.Metric)
			}
			metricOf[r.ID] = r.Metric
		}
	}
}
