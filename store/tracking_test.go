package store

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
)

// Rounding keeps the sum, and changes no probability by a whole unit.
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
		for i, p := range DecodeOdds(stored) {
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
