package feedback_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/feedback"
	"github.com/giverny/giverny/feedback/webhook"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/test/metric"
	"github.com/giverny/giverny/schema"
)

// alertsFor returns a hub that sends alerts every second to a receiver, and the number of firing alerts.
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

// A process that has lost a fabric to another one no longer reports or changes anything for it.
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
	before := firing.Load()
	time.Sleep(4 * time.Second)             // an owner re-sends it every second
	if n := firing.Load() - before; n > 1 { // one may be in flight
		t.Errorf("the former owner has sent the alert %d times", n)
	}
}

// An analysis that is catching up finds congestion from hours ago: no alert is sent and no node is avoided.
func TestThePastIsNotActedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := extenderConfig(t)
		cfg.Alertmanager.Enabled, cfg.Alertmanager.URLs = true, []secret.URL{secret.NewURL("http://alertmanager")} // a dry run
		h := startHub(t, cfg)
		h.interval -= 60
		h.congest(t, schema.High, "host3")
		if got := h.failed(t, "host3", "host4"); len(got) != 0 {
			t.Errorf("of the congestion of an hour ago %v are filtered out", got)
		}
		time.Sleep(5 * cfg.Alertmanager.Resend)
		if rows := h.audited(); strings.Contains(rows, "fire") {
			t.Errorf("the congestion of an hour ago is an alert: %s", rows)
		}
		h.interval += 60
		h.congest(t, schema.High, "host3")
		time.Sleep(5 * cfg.Alertmanager.Resend)
		if rows := h.audited(); strings.Count(rows, "fire") != 1 {
			t.Errorf("the congestion of now is one alert: %s", rows)
		}
		unknown := h.result(h.region(t, schema.High, "host4"))
		unknown.Snapshot.GraphVersion++
		h.put(t, unknown)
		if got := h.failed(t, "host3", "host4"); !slices.Equal(got, []string{"host3"}) {
			t.Errorf("with another version of the fabric %v are filtered out", got)
		}
		for _, reason := range []string{"past", "unknown_version"} {
			if n := metric.Sum(t, h.registry, "giverny_feedback_intervals_skipped_total", reason); n != 1 {
				t.Errorf("%v intervals skipped as %s, want 1", n, reason)
			}
		}
		if err := h.end(); err != nil {
			t.Error(err)
		}
	})
}

// A process that takes over a fabric for the first time replays the last hour: it sends the end of an incident
// whose beginning another process sent, with the same ID.
func TestAnIncidentEndsUnderAnotherOwner(t *testing.T) {
	type notice struct{ ID, Event, Incident string }
	var mu sync.Mutex
	var all []notice
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var n notice
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, n)
	}))
	t.Cleanup(receiver.Close)
	owner := func() *hub {
		cfg := feedback.DefaultConfig()
		cfg.Dir = t.TempDir()
		var hook webhook.Config
		hook.SetDefaults()
		hook.Name, hook.Enabled, hook.DryRun, hook.URL, hook.Secret = "tickets", true, false, secret.NewURL(receiver.URL), secret.NewText("0123456789abcdef")
		cfg.Webhooks = []webhook.Config{hook}
		h := startHub(t, cfg, func(d *feedback.Deps) { d.Shared = true })
		h.interval -= 10
		return h
	}
	await := func(h *hub, n int) {
		h.await(t, "notices", func() bool { mu.Lock(); defer mu.Unlock(); return len(all) >= n })
	}
	a, b := owner(), owner()
	a.congest(t, schema.High, "host3")
	a.congest(t, schema.High, "host3")
	await(a, 1)
	last, err := b.Sinks("ib0")[0].(interface {
		Last(context.Context) (int64, error)
	}).Last(t.Context())
	if began := (a.interval - 1) * int64(time.Minute); err != nil || last == 0 || last > began {
		t.Fatalf("the next owner asks for what is after %d, %v; the incident began at %d", last, err, began)
	}
	b.congest(t, schema.High, "host3") // stored
	b.congest(t, schema.High, "host3")
	for range 3 {
		b.relieve(t)
	}
	await(b, 3)
	mu.Lock()
	defer mu.Unlock()
	if len(all) != 3 || all[1] != all[0] || all[2].Event != "ended" || all[2].Incident != all[0].Incident {
		t.Errorf("notices %+v", all)
	}
}
