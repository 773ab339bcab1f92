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

func TestFirst(t *testing.T) {
	parts := []string{"a", "b", "c"}
	for most, want := range map[int]string{1: "a, and 2 more", 2: "a, b, and 1 more", 3: "a, b, c", 4: "a, b, c"} {
		if got := plural.First(parts, most, ", "); got != want || parts[2] != "c" {
			t.Errorf("%d: %q, want %q; parts %q", most, got, want, parts)
		}
	}
	if got := plural.First(nil, 2, "; "); got != "" {
		t.Errorf("none: %q", got)
	}
}
