package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
)

// TestAveragesSinceTheOnset: readings are averaged over the last intervals since the onset, without those that were
// lost.
func TestAveragesSinceTheOnset(t *testing.T) {
	u := newTiedUp(t)
	s := u.stage
	s.history.Clock = history.Clock{Duration: 60e9, Now: 9}
	use, stall := s.history.Track(schema.BandwidthUsed), s.history.Track(schema.CreditStall)
	for slot, v := range map[int64]uint8{1: 250, 6: 20, 7: 30, 8: history.LevelMissing, 9: 40} {
		use.Row(slot)[17] = v
		stall.Row(slot)[17] = 10 * min(v, 20)
	}
	for onset, want := range map[int]float64{-1: 0, 9: 0, 8: 16, 7: 14, 6: 12, 0: 12} {
		rc := &regionCase{in: &s.interval, p: u.p, region: &schema.Region{}, timeline: timeline{clock: s.history.Clock, stall: make([]float64, 10), onset: onset}}
		p := gridOf(rc).averaged(u.p)
		if got := p.UseOf(17); got != want {
			t.Errorf("onset %d: %v, want %v", onset, got, want)
		}
		if p != u.p && (p.Use != gridOf(rc).averaged(u.p).Use || p.UseOf(18) != -1 || p.Before(17) != 0) {
			t.Errorf("onset %d: not the same means, or of links that were not read", onset)
		}
	}
}
