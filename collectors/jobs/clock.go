package jobs

import (
	"strings"
	"time"

	"github.com/giverny/giverny/schema"
)

// clock parses a scheduler's times without a zone.
type clock struct{ zone *time.Location }

// zoneless reports whether a text is a time without a zone.
func zoneless(text string) bool {
	in := func(zone *time.Location) schema.Instant {
		at, _ := clock{zone}.instant(text)
		return at
	}
	return in(time.UTC) != in(time.FixedZone("", 3600))
}

// instant parses a time printed by sacct: local time without a zone, with a zone if SLURM_TIME_FORMAT asks for it,
// or seconds since 1970. "Unknown", "None" and an empty text are 0.
func (c clock) instant(text string) (schema.Instant, bool) {
	text = strings.TrimSpace(text)
	switch strings.ToLower(text) {
	case "", "unknown", "none", "n/a", "(null)", "invalid":
		return 0, true
	}
	if isDigits(text) {
		return seconds(text)
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, text, c.zone); err == nil {
			if t.Year() < 1971 || t.Year() > 2200 {
				return 0, false
			}
			return schema.Instant(t.UnixNano()), true
		}
	}
	return 0, false
}

// span parses the start and end of a job. A time without a zone is ambiguous in the hour that is repeated when
// daylight saving time ends: if the end would be before the start, readings are chosen for which it is not.
func (c clock) span(startText, endText string) (start, end schema.Instant, ok bool) {
	start, okStart := c.instant(startText)
	end, okEnd := c.instant(endText)
	if !okStart || !okEnd {
		return start, end, false
	}
	if start == 0 || end == 0 || end >= start {
		return start, end, true
	}
	for _, later := range c.readings(end, endText) {
		for _, earlier := range c.readings(start, startText) {
			if later >= earlier {
				return earlier, later, true
			}
		}
	}
	return start, end, true
}

// readings returns the possible meanings of a text, of which at is one: two instants, the earlier first, if it has no
// zone and is in a repeated hour.
func (c clock) readings(at schema.Instant, text string) []schema.Instant {
	const elsewhere = 12345 // seconds: no zone has this offset
	if same, _ := (clock{time.FixedZone("", elsewhere)}).instant(text); same == at {
		return []schema.Instant{at} // the text has a zone
	}
	t := at.Time().In(c.zone)
	_, offset := t.Zone()
	wall := t.Add(time.Duration(offset) * time.Second)
	var all []schema.Instant
	for _, near := range []time.Duration{-24 * time.Hour, 24 * time.Hour} { // before and after the clock change
		_, seconds := t.Add(near).Zone()
		reading := wall.Add(-time.Duration(seconds) * time.Second)
		if _, has := reading.Zone(); has == seconds {
			all = append(all, schema.Instant(reading.UnixNano()))
		}
	}
	return all
}

func isDigits(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return s != ""
}

func seconds(text string) (schema.Instant, bool) {
	const farthest = 7_258_118_400 // the year 2200
	n := int64(0)
	for _, r := range text {
		if n = 10*n + int64(r-'0'); n > farthest {
			return 0, false
		}
	}
	return schema.Instant(n * int64(time.Second)), true
}
