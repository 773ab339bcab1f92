package schema_test

import (
	"testing"
	"time"

	"github.com/giverny/giverny/schema"
)

// Fractions of seconds are exact, although a float64 cannot have as many digits as nanoseconds have since 1970.
func TestParseInstantOfFractions(t *testing.T) {
	for text, want := range map[string]schema.Instant{
		"1700000000":          1_700_000_000_000_000_000,
		"1700000000.001":      1_700_000_000_001_000_000,
		"1767574800.123":      1_767_574_800_123_000_000,
		"1767574800.1239999":  1_767_574_800_124_000_000,
		"2026-01-05 00:30:00": schema.Instant(time.Date(2026, 1, 5, 0, 30, 0, 0, time.UTC).UnixNano()),
	} {
		if got, err := schema.ParseInstant(text, time.UTC); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
}
