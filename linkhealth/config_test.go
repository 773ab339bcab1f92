package linkhealth_test

import (
	"math"
	"strings"
	"testing"

	"github.com/giverny/giverny/linkhealth"
)

func TestRangesOfValues(t *testing.T) {
	for _, c := range []struct {
		key    string // of the fault; empty: none
		change func(*linkhealth.Config)
	}{
		{"", func(*linkhealth.Config) {}},
		{"", func(c *linkhealth.Config) {
			c.DebounceIntervals, c.ErrorsPerHour, c.RecoveriesPerHour, c.FlapsPerHour = 1, 0, 0, 0
		}},
		{"", func(c *linkhealth.Config) { c.DebounceIntervals = 1000 }},
		{"debounce_intervals", func(c *linkhealth.Config) { c.DebounceIntervals = 0 }},
		{"debounce_intervals", func(c *linkhealth.Config) { c.DebounceIntervals = 1001 }},
		{"errors_per_hour", func(c *linkhealth.Config) { c.ErrorsPerHour = -1 }},
		{"recoveries_per_hour", func(c *linkhealth.Config) { c.RecoveriesPerHour = math.Inf(1) }},
		{"flaps_per_hour", func(c *linkhealth.Config) { c.FlapsPerHour = math.NaN() }},
	} {
		cfg := linkhealth.DefaultConfig()
		c.change(&cfg)
		if err := cfg.Validate(); (err == nil) != (c.key == "") || err != nil && !strings.HasPrefix(err.Error(), c.key+": ") {
			t.Errorf("%+v: %v, want a fault of %q", cfg, err, c.key)
		}
	}
}
