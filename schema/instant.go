package schema

import (
	"fmt"
	"time"
)

// Instant is a time in nanoseconds since 1970, UTC; 0 means none. In JSON it is
// RFC 3339 text, since browsers cannot represent a number of nanoseconds
// exactly.
type Instant int64

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
