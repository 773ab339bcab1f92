package history

import "testing"

// A ring has only finite values.
func TestTrafficIsFinite(t *testing.T) {
	traffic := NewTraffic(4, 0)
	for _, bytes := range []float64{-1, 1 << 64, 1e39, 1e300} {
		traffic.Set(Read, 0, bytes)
		if got := traffic.At(Read, 0); !IsMissing(got) {
			t.Errorf("%g bytes are kept as %g", bytes, got)
		}
	}
	traffic.Set(Read, 0, 1e18)
	if got := traffic.At(Read, 0); got != 1e18 {
		t.Errorf("1e18 bytes are kept as %g", got)
	}
}
