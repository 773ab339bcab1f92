package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
)

// Rounding keeps the sum, and moves no probability by a whole unit.
func TestOddsAreStoredInUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o schema.Odds
		sum := 0.
		for i := range o {
			o[i] = rapid.Float64Range(0, 1).Draw(t, "odds")
			sum += o[i]
		}
		if sum == 0 {
			o[0], sum = 1, 1
		}
		total := 0
		for i := range o {
			o[i] /= sum
		}
		stored := encodeOdds(&o)
		for i, p := range decodeOdds(stored) {
			total += int(stored[i])
			if d := p - o[i]; d >= 1./oddsUnit || d <= -1./oddsUnit {
				t.Fatalf("%v is stored as %v", o, stored)
			}
		}
		if total != oddsUnit {
			t.Fatalf("%v is stored as %v, which adds up to %d", o, stored, total)
		}
	})
	if encodeOdds(&schema.Odds{}) != nil {
		t.Error("no odds are stored as some")
	}
}

func TestCongestionAsItWasTold(t *testing.T) {
	db, ctx := migratedDB(t), t.Context()
	for n := int64(1); n <= 4; n++ {
		r := someResult("bw", n, 10)
		if n == 3 {
			r.Congestion = nil
		}
		if n == 4 {
			r.Congestion = &schema.CongestionEvent{BeginNanos: 4 * minute, EndNanos: 5 * minute, PeakMeanPercent: 50}
		}
		if err := db.Store(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	got, err := db.Congestion(ctx, "bw", Span{0, 9 * minute})
	want := []schema.CongestionEvent{{BeginNanos: minute, EndNanos: 3 * minute, PeakMeanPercent: 29.5}, {BeginNanos: 4 * minute, EndNanos: 5 * minute, PeakMeanPercent: 50}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
