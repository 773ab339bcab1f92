package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
)

// TestWhereGrowthCounts: a job that grows is known to have added to a region's load only where load is measured, and on
// a grid by its files only, as its links show the rest.
func TestWhereGrowthCounts(t *testing.T) {
	for _, c := range []struct {
		fabric                     string
		measuresLoad, file, counts bool
	}{
		{"fattree:leaves=2,hosts=3,spines=1", true, false, true},
		{"fattree:leaves=2,hosts=3,spines=1", false, true, false},
		{"torus:4x4", true, false, false},
		{"torus:4x4", true, true, true},
		{"torus:4x4", false, false, true},
	} {
		s, err := New(roottest.Graph(t, c.fabric), DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.measuresLoad = c.measuresLoad
		if got := (&regionCase{in: &s.interval}).rules().showsGrowth(&suspect{file: c.file}); got != c.counts {
			t.Errorf("%+v: %t", c, got)
		}
	}
}
