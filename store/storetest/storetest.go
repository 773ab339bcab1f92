// Package storetest makes results for the tests of the store and of what reads it. Input: a fabric, the number of an interval and of
// links. Output: a result with snapshot, regions, states and events, the same for the same arguments.
package storetest

import (
	"math/rand/v2"

	"github.com/giverny/giverny/schema"
)

// minute is the length of the intervals in nanoseconds; interval n begins n minutes after 1970.
const minute = int64(60e9)

// Result returns interval n of a fabric with some links; region is the id of its High region, which was born in the first minute.
func Result(fabric string, region uint64, n int64, links int) *schema.IntervalResult {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	snap := &schema.Snapshot{Fabric: fabric, GraphVersion: 1<<63 + 7, Interval: schema.Interval{StartNanos: n * minute, DurationNanos: minute}, Links: links,
		FirstReadNanos: n*minute + 1, LastReadNanos: n*minute + minute - 1, Samples: 3 * links}
	for _, m := range []schema.Metric{schema.CreditStall, schema.InqStall, schema.Throughput} {
		s := schema.Series{Metric: m, Values: make([]float32, links), Valid: schema.NewBitmap(links)}
		for i := range s.Values {
			if rng.IntN(20) == 0 {
				continue
			}
			s.Valid.Set(i)
			s.Count++
			s.Values[i] = float32(rng.ExpFloat64())
			if m == schema.Throughput {
				s.Values[i] *= 1e9
			}
		}
		snap.Series = append(snap.Series, s)
	}
	r := &schema.IntervalResult{Snapshot: snap, Dropped: map[string]uint64{"late": 3, "reset": 1}}
	r.Regions = []schema.Region{
		{Metric: schema.CreditStall, Links: []schema.LinkID{3, 4, 9}, Size: 3, Mean: 27.5, Max: 40, Severity: schema.High, Name: "(0,0,0) 1x1x3",
			Box: &schema.Box{Min: []int{0, 0, 23}, Max: []int{0, 0, 2}}, ID: region, AgeIntervals: int(n), Unread: 2, BirthNanos: minute + 1},
		{Metric: schema.InqStall, Links: []schema.LinkID{1, 2}, Size: 2, Mean: 7, Max: 8, Severity: schema.Low, Name: "leaf 'one'\n"},
	}
	r.Regions[1].Root = &schema.Root{Device: "leaf7", Port: "9", Peer: "host56", Kind: schema.RootIncast, Link: 2}
	r.Regions[0].Forecast = &schema.Forecast{GrowthLinks: -3, TrendPercent: .25, Next: schema.Odds{0, .1, .2, .6, .1}, Later: schema.Odds{.2, .2, .2, .2, .2}}
	r.States = schema.NetworkStates(snap, r.Regions)
	r.Network = schema.NetworkForecast{Next: schema.Odds{.5, .3, .1, .1}, Later: schema.Odds{.2, .4, .2, .2}}
	r.Congestion = &schema.CongestionEvent{BeginNanos: minute, EndNanos: n*minute + minute, PeakMeanPercent: 27.5 + float64(n)}
	r.Hot = []schema.HotLink{{Metric: schema.CreditStall, Link: 9, SinceNanos: minute}, {Metric: schema.InqStall, Link: 1, SinceNanos: n * minute}}
	r.Events = []schema.Event{{TimeNanos: n*minute + 5, Fabric: fabric, Kind: schema.RegionBorn, RegionID: region, Detail: "born"},
		{TimeNanos: n*minute + 7, Fabric: fabric, Kind: schema.LinkFailed, Device: "0,0,0", Port: "X+"}}
	return r
}
