package schema

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Instant is a time in nanoseconds since 1970, UTC; 0 means none. In JSON it is
// RFC 3339 text, since browsers cannot represent a number of nanoseconds
// exactly.
type Instant int64

// InstantOf is the instant of a time.
func InstantOf(t time.Time) Instant { return Instant(t.UnixNano()) }

// Time returns the time in UTC.
func (i Instant) Time() time.Time { return time.Unix(0, int64(i)).UTC() }

// IsZero reports whether there is no time; omitzero then omits it from JSON.
func (i Instant) IsZero() bool { return i == 0 }

func (i Instant) String() string { return i.Time().Format(time.RFC3339Nano) }

// MarshalText returns RFC 3339, empty for none.
func (i Instant) MarshalText() ([]byte, error) {
	if i == 0 {
		return nil, nil
	}
	return i.Time().AppendFormat(nil, time.RFC3339Nano), nil
}

// TimeError is the error of a text that is not a valid time.
type TimeError struct{ Text, Want string }

func (e *TimeError) Error() string { return fmt.Sprintf("time %q: want %s", e.Text, e.Want) }

// UnmarshalText parses RFC 3339 or an empty text; its error is a *TimeError.
func (i *Instant) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*i = 0
		return nil
	}
	t, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return &TimeError{string(text), "RFC 3339, such as 2026-01-05T00:30:00Z"}
	}
	if t.Year() < 1678 || t.Year() > 2261 {
		return &TimeError{string(text), "a year from 1678 to 2261"}
	}
	*i = Instant(t.UnixNano())
	return nil
}

// The range of a time in seconds since 1970: a smaller number is a date without separators (20260105), a larger one has
// milliseconds or nanoseconds, or does not fit in an int64.
const minSeconds, maxSeconds = 1e9, 9.2e9

// ParseInstant parses a time of a table: RFC 3339, seconds since 1970 with an optional fraction, as Prometheus has them, or a
// date and time without a zone, which is in the given one; a nil zone refuses it, because it is ambiguous. An empty text is 0.
// The error is a *TimeError.
func ParseInstant(text string, zone *time.Location) (Instant, error) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if !(seconds >= minSeconds && seconds < maxSeconds) {
			return 0, &TimeError{text, fmt.Sprintf("RFC 3339, or seconds since 1970, from %.0f (2001) to %.0f (2261), not milliseconds", minSeconds, maxSeconds)}
		}
		return Instant(math.Round(seconds*1000)) * 1e6, nil // in integers: a float64 has too few digits for nanoseconds
	}
	if zone != nil {
		for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05"} { // a fraction is parsed too
			if t, err := time.ParseInLocation(layout, text, zone); err == nil {
				text = t.Format(time.RFC3339Nano)
			}
		}
	}
	var i Instant
	if err := i.UnmarshalText([]byte(text)); err != nil {
		fault := err.(*TimeError)
		return 0, &TimeError{fault.Text, fault.Want + ", or seconds since 1970"}
	}
	return i, nil
}
