package alertmanager

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/feedback/record"
	"github.com/giverny/giverny/schema"
)

// While no member answers, ends of alerts that no member has any more are forgotten, and counted: alerts do not add up for ever.
func TestEndsThatNoMemberTakesAreForgotten(t *testing.T) {
	metrics, err := record.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(DefaultConfig(), record.New("alertmanager", Reasons(), metrics, record.NewTrail(nil, metrics), slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	r := &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "ib0"}, Regions: []schema.Region{{ID: 1, Severity: schema.High}}}
	a.Take(r)
	r.Regions = nil
	a.Take(r)
	now := time.Now()
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {keepResolved - time.Minute, 1}, {keepResolved + time.Minute, 0}} {
		if list, _ := a.due(now.Add(c.after), true); len(list) != c.want {
			t.Errorf("after %v: %d alerts, want %d", c.after, len(list), c.want)
		}
	}
	if len(a.alerts) != 0 {
		t.Errorf("%d alerts are kept", len(a.alerts))
	}
}
