package listing

import (
	"testing"
	"time"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/run"
)

// Progress uses readable numbers: no exponents, and the singular for one.
func TestProgressOfASearch(t *testing.T) {
	for want, now := range map[string]run.Progress{
		"giverny search: 600 of 600 experiments, 3 failed, 12 anomalies, 17699 experiments a minute": {Summary: search.Summary{Experiments: 600, Failed: 3, Anomalies: 12}, Budget: 600, Elapsed: 2034 * time.Millisecond},
		"giverny search: 1 of 1 experiment, 0 failed, 1 anomaly, 1.88 experiments a minute":          {Summary: search.Summary{Experiments: 1, Anomalies: 1}, Budget: 1, Elapsed: 32 * time.Second},
		"giverny search: 60 of 60 experiments, 0 failed, 0 anomalies":                                {Summary: search.Summary{Experiments: 60}, Budget: 60, Resumed: 60},
		"giverny search: 60 of 60 experiments, 0 failed, 0 anomalies, 12.5 experiments a minute":     {Summary: search.Summary{Experiments: 60}, Budget: 60, Elapsed: 288 * time.Second},
	} {
		if got := progressText(now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
