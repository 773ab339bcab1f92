package tracking_test

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/tracking"
)

// naive follows identities as described in the package comment, with sets. Its
// identities are ordinals.
type naive struct {
	tracks []*naiveTrack // oldest first
	born   int
}

type naiveTrack struct {
	id, birth, seen int
	metric          schema.Metric
	links           map[schema.LinkID]bool
}

type naivePair struct {
	r, k, shared int
	jaccard      float64
}

func (n *naive) step(now int, regions []schema.Region, order []int) (ids, ages []int) {
	const gap = 2
	var pairs []naivePair
	for rank, r := range order {
		for k, tr := range n.tracks {
			shared := 0
			for _, l := range regions[r].Links {
				if tr.links[l] {
					shared++
				}
			}
			a, b := len(regions[r].Links), len(tr.links)
			if tr.metric == regions[r].Metric && 2*shared > min(a, b) {
				pairs = append(pairs, naivePair{rank, k, shared, float64(shared) / float64(a+b-shared)})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b naivePair) int {
		return cmp.Or(cmp.Compare(b.jaccard, a.jaccard), cmp.Compare(a.k, b.k), cmp.Compare(a.r, b.r))
	})
	trackOf, regionOf := map[int]int{}, map[int]int{} // by rank, by track
	join := func() {
		for _, p := range pairs {
			_, taken := trackOf[p.r]
			_, gone := regionOf[p.k]
			if !taken && !gone {
				trackOf[p.r], regionOf[p.k] = p.k, p.r
			}
		}
	}
	join()
	for rank := range order {
		k, ok := trackOf[rank]
		if !ok {
			continue
		}
		brought := 0
		for _, p := range pairs {
			if p.r == rank && p.k == k {
				brought = p.shared
			}
		}
		for old := range n.tracks[:k] {
			_, goesOn := regionOf[old]
			i := slices.IndexFunc(pairs, func(p naivePair) bool { return p.r == rank && p.k == old })
			if !goesOn && n.tracks[old].seen == now-1 && i >= 0 && 2*pairs[i].shared >= brought {
				delete(regionOf, k)
				trackOf[rank], regionOf[old] = old, rank
				break
			}
		}
	}
	join()
	ids, ages = make([]int, len(regions)), make([]int, len(regions))
	for rank, r := range order {
		k, ok := trackOf[rank]
		if !ok {
			n.born++
			k = len(n.tracks)
			n.tracks = append(n.tracks, &naiveTrack{id: n.born, birth: now, metric: regions[r].Metric})
		}
		tr := n.tracks[k]
		tr.seen, tr.links = now, map[schema.LinkID]bool{}
		for _, l := range regions[r].Links {
			tr.links[l] = true
		}
		ids[r], ages[r] = tr.id, now-tr.birth+1
	}
	n.tracks = slices.DeleteFunc(n.tracks, func(tr *naiveTrack) bool { return now-tr.seen > gap })
	return ids, ages
}

// drawRegions draws regions of few links, so that they often overlap, with distinct
// means.
func drawRegions(t *rapid.T) []schema.Region {
	out := make([]schema.Region, rapid.IntRange(0, 6).Draw(t, "regions"))
	for i := range out {
		a := rapid.IntRange(0, 60).Draw(t, "from")
		out[i] = region(a, a+rapid.IntRange(1, 30).Draw(t, "links"), float64(rapid.IntRange(0, 400).Draw(t, "mean"))/10+float64(i)/1000)
		if rapid.Bool().Draw(t, "inq") {
			out[i].Metric = schema.InqStall
		}
	}
	return out
}

func canonical(regions []schema.Region) []int {
	order := make([]int, len(regions))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := &regions[a], &regions[b]
		return cmp.Or(cmp.Compare(x.Metric, y.Metric), cmp.Compare(y.Size, x.Size), cmp.Compare(y.Mean, x.Mean))
	})
	return order
}

func TestIdentitiesAreThoseOfSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr, n := mustTracker(t), &naive{}
		ordinal := map[uint64]int{}
		for now := range rapid.IntRange(1, 12).Draw(t, "intervals") {
			in := drawRegions(t)
			ids, ages := n.step(now, in, canonical(in))
			res := tr.Step(minuteAt(now), in)
			for _, r := range canonical(in) {
				if _, known := ordinal[res.Regions[r].ID]; !known {
					next := len(ordinal) + 1
					ordinal[res.Regions[r].ID] = next
				}
			}
			for i, r := range res.Regions {
				if ordinal[r.ID] != ids[i] || r.AgeIntervals != ages[i] {
					t.Fatalf("interval %d, region %d: identity %d of age %d, want %d of %d", now, i, ordinal[r.ID], r.AgeIntervals, ids[i], ages[i])
				}
			}
		}
	})
}

// The order of regions and the numbers of links do not matter.
func TestOrderAndNumbersDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plain, other := mustTracker(t), mustTracker(t)
		renumber := rapid.Permutation(identity(100)).Draw(t, "numbers")
		for now := range rapid.IntRange(1, 10).Draw(t, "intervals") {
			in := drawRegions(t)
			shuffle := rapid.Permutation(identity(len(in))).Draw(t, "order")
			out := make([]schema.Region, len(in))
			for i, j := range shuffle {
				out[i] = in[j]
				out[i].Links = nil
				for _, l := range in[j].Links {
					out[i].Links = append(out[i].Links, schema.LinkID(renumber[l]))
				}
				slices.Sort(out[i].Links)
			}
			a, b := plain.Step(minuteAt(now), in), other.Step(minuteAt(now), out)
			for i, j := range shuffle {
				if x, y := b.Regions[i], a.Regions[j]; x.ID != y.ID || x.AgeIntervals != y.AgeIntervals || b.Forecasts[i] != a.Forecasts[j] {
					t.Fatalf("interval %d: identity %d of age %d, want %d of %d", now, x.ID, x.AgeIntervals, y.ID, y.AgeIntervals)
				}
			}
			if diff := gocmp.Diff(a.Events, b.Events); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// A tracker restored from the intervals stored by an earlier one continues like it; one
// restored from a saved state is identical.
func TestRestartsDoNotShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole, restored := mustTracker(t), mustTracker(t)
		const replayed = 8 // GapIntervals + LaterIntervals, and one
		before := rapid.IntRange(1, 20).Draw(t, "before")
		oldest := minuteAt(before - replayed + tracking.DefaultConfig().GapIntervals)
		for now := range before {
			res := whole.Step(minuteAt(now), drawRegions(t))
			if now >= before-replayed {
				if err := restored.Restore(minuteAt(now), slices.Clone(res.Regions)); err != nil {
					t.Fatal(err)
				}
			}
		}
		loaded, err := tracking.Load(torusOf(t), tracking.DefaultConfig(), whole.Save())
		if err != nil {
			t.Fatal(err)
		}
		for now := range 6 {
			in := drawRegions(t)
			a := whole.Step(minuteAt(before+now), slices.Clone(in))
			b := restored.Step(minuteAt(before+now), slices.Clone(in))
			c := loaded.Step(minuteAt(before+now), slices.Clone(in))
			if diff := gocmp.Diff(a, c, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("loaded: %s", diff)
			}
			if diff := gocmp.Diff(a.Regions, b.Regions) + gocmp.Diff(identityEvents(a.Events, oldest), identityEvents(b.Events, oldest)) + gocmp.Diff(a.Network.Severity, b.Network.Severity); diff != "" {
				t.Fatalf("restored: %s", diff)
			}
			for i := range a.Forecasts {
				if x, y := a.Forecasts[i], b.Forecasts[i]; x.TrendPercent != y.TrendPercent || x.GrowthLinks != y.GrowthLinks {
					t.Fatalf("restored: forecast %+v, want %+v", y, x)
				}
			}
		}
		if string(whole.Save()) != string(loaded.Save()) {
			t.Fatal("the loaded tracker does not know what the saved one does")
		}
	})
}

// identityEvents are those of regions born since an interval, GapIntervals after the first restored one, so
// that a region's parent is among those restored even if it was unseen when the region split from it. Whether
// an earlier flickering region was reported does not follow from the restored intervals.
func identityEvents(events []schema.Event, since schema.Interval) (some []schema.Event) {
	for _, e := range events {
		born := int64(e.RegionID>>20) * 1e9
		if e.RegionID != 0 && e.Kind != schema.RegionSeverity && born > since.StartNanos {
			some = append(some, e)
		}
	}
	return some
}

func identity(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}
