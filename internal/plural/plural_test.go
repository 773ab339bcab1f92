package plural_test

import (
	"testing"

	"github.com/giverny/giverny/internal/plural"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 switches", 1: "1 switch", 2: "2 switches", 21: "21 switches"} {
		if got := plural.Count(n, "switch", "switches"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
