package collectors

import (
	"testing"
	"time"
)

func TestBoundaries(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		now      string
		interval time.Duration
		want     string
	}{
		{"2026-01-01T00:00:00Z", time.Minute, "2026-01-01T00:01:00Z"},
		{"2026-01-01T00:00:59.999999999Z", time.Minute, "2026-01-01T00:01:00Z"},
		{"2026-01-01T00:00:00.05Z", 100 * time.Millisecond, "2026-01-01T00:00:00.1Z"},
		{"1970-01-01T00:00:08Z", 7 * time.Second, "1970-01-01T00:00:14Z"},
	} {
		if got := nextBoundary(at(c.now), c.interval); !got.Equal(at(c.want)) {
			t.Errorf("after %s every %v: %v, want %s", c.now, c.interval, got.UTC(), c.want)
		}
	}
	for _, c := range []struct {
		started       string
		elapsed, step time.Duration
		want          int
	}{
		{"2026-01-01T00:00:00Z", 59 * time.Second, time.Minute, 0},
		{"2026-01-01T00:00:00Z", time.Minute, time.Minute, 1},
		{"2026-01-01T00:00:30Z", 29 * time.Second, time.Minute, 0},
		{"2026-01-01T00:00:30Z", 90 * time.Second, time.Minute, 2},
		{"2026-01-01T00:00:00.002Z", 3 * time.Second, time.Second, 3},
	} {
		if got := missedBoundaries(at(c.started), c.elapsed, c.step); got != c.want {
			t.Errorf("a poll of %v from %s missed %d boundaries, want %d", c.elapsed, c.started, got, c.want)
		}
	}
}
