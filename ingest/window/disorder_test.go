package window_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology/topologytest"
)

// steadyBytesPerSecond is what every link of these tests carries, all the time.
const steadyBytesPerSecond = 1000

// steadyReading is a batch of one reading at a true instant, stamped by a clock with an offset.
func steadyReading(agent, device string, number uint64, trueNanos, offsetNanos int64) *schema.CounterBatch {
	return &schema.CounterBatch{Fabric: "f", Agent: agent, Source: "s", Sequence: number,
		Ports: []schema.PortName{{Device: device, Port: "X+"}}, TimeNanos: []int64{trueNanos + offsetNanos}, PortIndex: []uint32{0},
		Columns: []schema.CounterColumn{
			{Name: "gemini.traffic_bytes", Values: []uint64{uint64(trueNanos) / (1e9 / steadyBytesPerSecond)}},
			{Name: "gemini.traffic_packets", Values: []uint64{uint64(trueNanos) / 1e8}},
		}}
}

// steadyRates adds batches and returns an error if a link has a rate that none ever had, and how many values there are.
func steadyRates(w *window.Window, batches []*schema.CounterBatch) (values int, err error) {
	for _, b := range batches {
		if b.Sequence == 1 { // as Sequences finds out, from batches in order of arrival
			w.Renumbered(b.Agent, b.Source)
		}
		if err := w.Add(b); err != nil {
			return values, err
		}
		for s := w.Next(); s != nil; s = w.Next() {
			series := s.Find(schema.Throughput)
			if series == nil {
				continue
			}
			for link, v := range series.Values {
				if !series.Valid.Has(link) {
					continue
				}
				if values++; v < .99*steadyBytesPerSecond || v > 1.01*steadyBytesPerSecond {
					return values, fmt.Errorf("%v: link %d carries %v bytes/s, want %v", s.Interval, link, v, steadyBytesPerSecond)
				}
			}
		}
	}
	return values, nil
}

// polls reads a device once per period and a bit, by a clock that is set back once.
func polls(agent, device string, from, to, period, jitter, stepAt, step int64, rng *rand.Rand) (batches []*schema.CounterBatch) {
	number := uint64(0)
	for at := from; at < to; at += period {
		offset := int64(0)
		if at >= stepAt {
			offset = -step
		}
		number++
		batches = append(batches, steadyReading(agent, device, number, at+rng.Int64N(max(1, jitter)), offset))
	}
	return batches
}

func trueOrder(batches []*schema.CounterBatch) {
	slices.SortStableFunc(batches, func(a, b *schema.CounterBatch) int {
		return cmp.Compare(a.Columns[0].Values[0], b.Columns[0].Values[0])
	})
}

// A clock that is set back by a poll or more, up to days, gives no rate that the link never had, in whatever order the readings come.
func TestClockSetBackGivesNoFalseRate(t *testing.T) {
	g := topologytest.Parse(t, "f", "mesh:5")
	rapid.Check(t, func(t *rapid.T) {
		cfg := window.DefaultConfig()
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		period := rapid.SampledFrom([]int64{10e9, 30e9, 60e9}).Draw(t, "period")
		length := int64(40 * time.Minute)
		step := rapid.OneOf(
			rapid.Map(rapid.Int64Range(1, 20), func(n int64) int64 { return n * period }),
			rapid.Int64Range(period+period/50, 30*period), rapid.Int64Range(int64(time.Hour), 50*int64(time.Hour))).Draw(t, "step")
		stepAt := rapid.Int64Range(length/4, length/2).Draw(t, "at")
		jitter := period / 100
		if step%period == 0 {
			jitter = 0 // readings of one instant
		}
		restarts := rapid.Bool().Draw(t, "the agents restart")
		begin := int64(1000 * time.Hour)
		var batches []*schema.CounterBatch
		for d := range 3 {
			at := begin + stepAt
			if d > 0 {
				at = begin + 2*length // its clock is right
			}
			own := polls(fmt.Sprint("agent", d), fmt.Sprint(d), begin, begin+length, period, jitter, at, step, rng)
			if restarts { // as when the host boots with a wrong clock
				for number, b := range own[(stepAt+period-1)/period:] {
					b.Sequence = uint64(number + 1)
				}
			}
			batches = append(batches, own...)
		}
		trueOrder(batches)
		sorted := !restarts && rapid.Bool().Draw(t, "by instant") && step < 6*period
		if sorted { // as a buffer that puts late readings in order delivers them
			slices.SortStableFunc(batches, func(a, b *schema.CounterBatch) int { return cmp.Compare(a.TimeNanos[0], b.TimeNanos[0]) })
		}
		w, err := window.New(g, cfg)
		if err != nil {
			t.Fatal(err)
		}
		values, err := steadyRates(w, batches)
		if err != nil {
			t.Fatal(err)
		}
		if values < 60 {
			t.Fatalf("%d values; drops %v", values, w.Drops())
		}
		if w.Drops()["clock_back"] == 0 {
			t.Fatalf("not named: %v", w.Drops())
		}
	})
}

// Of two agents that read a port by clocks that differ, one is used.
func TestTwoReadersGiveNoFalseRate(t *testing.T) {
	g := topologytest.Parse(t, "f", "mesh:5")
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		period := rapid.SampledFrom([]int64{20e9, 60e9}).Draw(t, "period")
		offset := rapid.Int64Range(-3*period, 3*period).Draw(t, "offset")
		begin, length := int64(1000*time.Hour), int64(30*time.Minute)
		var batches []*schema.CounterBatch
		for d := range 3 {
			batches = append(batches, polls("right", fmt.Sprint(d), begin, begin+length, period, period/100, begin+length, 0, rng)...)
		}
		batches = append(batches, polls("wrong", "0", begin+period/2, begin+length, period, period/100, begin, offset, rng)...)
		trueOrder(batches)
		w, err := window.New(g, window.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		values := 0
		for _, b := range batches {
			if err := w.Add(b); err != nil {
				t.Fatal(err)
			}
			for s := w.Next(); s != nil; s = w.Next() {
				series := s.Find(schema.Throughput)
				if series == nil {
					continue
				}
				values += series.Count
				for link, v := range series.Values {
					// Until readings contradict each other, they may be off by the offset, mostly to lower rates.
					if series.Valid.Has(link) && (v < .1*steadyBytesPerSecond || v > 1.8*steadyBytesPerSecond) {
						t.Fatalf("%v: link %d carries %v bytes/s, want %v", s.Interval, link, v, steadyBytesPerSecond)
					}
				}
			}
		}
		if values < 50 {
			t.Fatalf("%d values; drops %v", values, w.Drops())
		}
	})
}
