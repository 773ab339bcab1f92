package alertmanager

import (
	"testing"
	"time"

	"github.com/giverny/giverny/feedback/record/recordtest"
	"github.com/giverny/giverny/schema"
)

func newAlertmanager(t *testing.T) *Alertmanager {
	t.Helper()
	a, err := New(DefaultConfig(), recordtest.New(t, "alertmanager", Reasons()).Recorder)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// While no member answers, resolutions that no member needs any more are dropped and counted, so that memory stays bounded.
func TestEndsThatNoMemberTakesAreForgotten(t *testing.T) {
	a := newAlertmanager(t)
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

// If there are too many regions, the alerts of the most severe ones are sent.
func TestTheMostSevereOfTooManyAreSent(t *testing.T) {
	a := newAlertmanager(t)
	r := &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "ib0"}}
	for id := range uint64(maxAlerts + 2) {
		r.Regions = append(r.Regions, schema.Region{ID: id + 1, Severity: schema.Medium})
	}
	r.Regions[0].Severity, r.Regions[maxAlerts+1].Severity = schema.High, schema.High
	a.Take(r)
	high := 0
	for _, on := range a.alerts {
		if on.Labels["severity"] == "high" {
			high++
		}
	}
	if len(a.alerts) != maxAlerts || high != 2 {
		t.Errorf("%d alerts, %d of them High; want %d and 2", len(a.alerts), high, maxAlerts)
	}
}

// New regions in every interval while no member answers: a bounded number of alerts is kept, and the newest of them.
func TestAlertsOfManyShortRegionsAreBounded(t *testing.T) {
	a := newAlertmanager(t)
	r := &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "ib0"}}
	for interval := range uint64(12) {
		r.Regions = r.Regions[:0]
		for i := range uint64(maxAlerts) {
			r.Regions = append(r.Regions, schema.Region{ID: interval*maxAlerts + i + 1, Severity: schema.High})
		}
		a.Take(r)
	}
	firing := 0
	for _, have := range a.alerts {
		if have.resolved.IsZero() {
			firing++
		}
	}
	if firing != maxAlerts || len(a.alerts) != maxAlerts+maxResolved || len(a.incidents) > maxAlerts+maxResolved {
		t.Errorf("%d alerts, %d of them firing, %d incidents; want %d and %d", len(a.alerts), firing, len(a.incidents), maxAlerts+maxResolved, maxAlerts)
	}
}

// An alert never starts in the future, nor after its end: Alertmanager rejects the latter.
func TestARegionFromTheFuture(t *testing.T) {
	a := newAlertmanager(t)
	r := &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "ib0"}, Regions: []schema.Region{{ID: 1, Severity: schema.High, BirthNanos: time.Now().Add(time.Hour).UnixNano()}}}
	a.Take(r)
	for _, state := range []string{"firing", "resolved"} {
		now := time.Now()
		if _, alerts := a.due(now, true); len(alerts) != 1 || alerts[0].StartsAt.After(now) || alerts[0].EndsAt.Before(alerts[0].StartsAt) {
			t.Errorf("%s: %+v", state, alerts)
		}
		r.Regions = nil
		a.Take(r)
	}
}
