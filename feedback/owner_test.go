package feedback_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/schema"
)

// alertsFor makes a hub that sends alerts each second to a receiver, and counts those that are on.
func alertsFor(t *testing.T) (h *hub, firing *atomic.Int64) {
	t.Helper()
	firing = new(atomic.Int64)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var alerts []struct{ EndsAt time.Time }
		if err := json.NewDecoder(r.Body).Decode(&alerts); err != nil {
			t.Error(err)
		}
		for _, a := range alerts {
			if a.EndsAt.After(time.Now()) {
				firing.Add(1)
			}
		}
	}))
	t.Cleanup(receiver.Close)
	cfg := extenderConfig(t)
	a := &cfg.Alertmanager
	a.Enabled, a.DryRun, a.URLs, a.Resend = true, false, []secret.URL{secret.NewURL(receiver.URL)}, time.Second
	return startHub(t, cfg), firing
}

// Who has lost a fabric to another process says and does nothing more about it.
func TestALostFabricIsNoMoreActedOn(t *testing.T) {
	h, firing := alertsFor(t)
	h.congest(t, schema.High, "host3")
	h.await(t, "the alert", func() bool { return firing.Load() > 0 })
	if got := h.failed(t, "host3", "host4"); len(got) != 1 {
		t.Errorf("the owner filters out %v", got)
	}
	for _, s := range h.Sinks(h.graph.Fabric()) {
		if s, ok := s.(interface{ Rest() }); ok {
			s.Rest()
		}
	}
	if got := h.failed(t, "host3", "host4"); len(got) != 0 {
		t.Errorf("the former owner filters out %v", got)
	}
	time.Sleep(time.Second) // one may be on its way
	before := firing.Load()
	time.Sleep(2500 * time.Millisecond)
	if n := firing.Load() - before; n > 0 {
		t.Errorf("the former owner has sent the alert %d times", n)
	}
}

// An analysis that catches up finds the congestion of hours ago: nobody is woken, and no node is avoided.
func TestThePastIsNotActedOn(t *testing.T) {
	h, firing := alertsFor(t)
	h.interval -= 60
	h.congest(t, schema.High, "host3")
	if got := h.failed(t, "host3", "host4"); len(got) != 0 {
		t.Errorf("of the congestion of an hour ago %v are filtered out", got)
	}
	time.Sleep(1500 * time.Millisecond)
	if firing.Load() > 0 {
		t.Error("the congestion of an hour ago is an alert")
	}
	h.interval += 60
	h.congest(t, schema.High, "host3")
	h.await(t, "the alert", func() bool { return firing.Load() > 0 })
}
