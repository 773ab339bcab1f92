package jobs

import (
	"errors"
	"strings"
	"time"

	"github.com/giverny/giverny/schema"
)

// zoneless reports whether a text is a time without a zone.
func zoneless(text string) bool {
	in := func(zone *time.Location) schema.Instant {
		at, _ := parseTime(text, zone)
		return at
	}
	return in(time.UTC) != in(time.FixedZone("", 3600))
}

// parseTime parses a time printed by sacct: local time without a zone, with a zone if SLURM_TIME_FORMAT asks for it,
// or seconds since 1970. "Unknown", "None" and an empty text are 0.
func parseTime(text string, zone *time.Location) (schema.Instant, error) {
	text = strings.TrimSpace(text)
	switch strings.ToLower(text) {
	case "", "unknown", "none", "n/a", "(null)", "invalid":
		return 0, nil
	}
	if isDigits(text) {
		return seconds(text)
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			if t.Year() < 1971 || t.Year() > 2200 {
				return 0, errNoTime
			}
			return schema.InstantOf(t), nil
		}
	}
	return 0, errNoTime
}

var errNoTime = errors.New("no time")

func isDigits(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return s != ""
}

func seconds(text string) (schema.Instant, error) {
	const farthest = 7_258_118_400 // the year 2200
	n := int64(0)
	for _, r := range text {
		if n = 10*n + int64(r-'0'); n > farthest {
			return 0, errNoTime
		}
	}
	return schema.Instant(n * int64(time.Second)), nil
}
