package segment_test

import (
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
)

func TestConfigValidate(t *testing.T) {
	if err := (&segment.Config{}).Validate(); err == nil {
		t.Error("the zero configuration must be refused")
	}
	cfg := segment.DefaultConfig()
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*segment.Config){
		"method":        func(c *segment.Config) { c.Method = "magic" },
		"paper overlap": func(c *segment.Config) { c.Method, c.Overlap = segment.Paper, true },
		"metric":        func(c *segment.Config) { c.Metrics = []schema.Metric{schema.Throughput} },
		"twice":         func(c *segment.Config) { c.Metrics = []schema.Metric{schema.XmitWait, schema.XmitWait} },
		"min links":     func(c *segment.Config) { c.MinLinks = -1 },
		"mean":          func(c *segment.Config) { c.MinMeanPercent = 101 },
		"distance":      func(c *segment.Config) { c.Paper.Distance = 99 },
	} {
		cfg := segment.DefaultConfig()
		change(&cfg)
		if err := cfg.Validate(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
