//go:build !race

package packet

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/test/repo"
)

// The recorded runs take seconds, but minutes under the race detector, which cannot
// find anything in a simulation without goroutines: only the first step runs there.

// TestRecordedNS3Runs: a ring all-reduce of 8 ranks on half a fat tree, without
// and with background flows, takes as long as in ns-3.
func TestRecordedNS3Runs(t *testing.T) {
	for _, name := range []string{"nobg", "bf1only", "bf2only", "default"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repo.Fixture(t, "collective", "vedrfolnir", "ring40_"+name)
			var want float64
			ns3Scan(t, strings.TrimPrefix(ns3Lines(t, filepath.Join(dir, "critical_ns.txt"))[0], "total_ms "), &want)
			r := newNS3Run(t, dir)
			got := r.play()
			t.Logf("%.3f ms, ns-3 %.3f ms: %+.2f%%", got, want, 100*(got/want-1))
			if math.Abs(got/want-1) > 0.05 {
				t.Errorf("the ring takes %.3f ms, in ns-3 %.3f", got, want)
			}
		})
	}
}
