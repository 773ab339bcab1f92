package alertmanager

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/giverny/giverny/feedback/record/recordtest"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/schema"
)

// member is an Alertmanager that records the alerts it gets.
type member struct {
	mu     sync.Mutex // guards what follows
	status int
	date   string // of its clock; empty: right
	got    []Alert
}

func (m *member) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.date != "" {
		w.Header().Set("Date", m.date)
	}
	var alerts []Alert
	if r.Method != http.MethodPost || r.URL.Path != "/api/v2/alerts" || r.Header.Get("Content-Type") != "application/json" || json.NewDecoder(r.Body).Decode(&alerts) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.WriteHeader(m.status)
	fmt.Fprint(w, "as the member says")
	m.got = append(m.got, alerts...)
}

// take returns the alerts since the last call, as "region state".
func (m *member) take() (list []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.got {
		state := "fires"
		if !a.EndsAt.After(time.Now()) {
			state = "ended"
		}
		list = append(list, a.Labels["region"]+" "+state)
	}
	m.got = nil
	return list
}

func regions(ids ...uint64) *schema.IntervalResult {
	r := &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "ib0"}}
	for _, id := range ids {
		r.Regions = append(r.Regions, schema.Region{ID: id, Severity: schema.High, Name: "pod 3"})
	}
	r.Regions = append(r.Regions, schema.Region{ID: 98, Severity: schema.Low}, schema.Region{Severity: schema.High}) // below the minimum; not tracked
	return r
}

// Every member gets every change at once, and all again at each Resend. One member that accepts them suffices; otherwise they
// are sent again. The audit has what was delivered.
func TestDelivery(t *testing.T) {
	a, b := &member{status: http.StatusOK}, &member{status: http.StatusOK}
	cfg := DefaultConfig()
	cfg.DryRun = false
	for _, m := range []*member{a, b} {
		server := httptest.NewServer(m)
		defer server.Close()
		cfg.URLs = append(cfg.URLs, secret.NewURL(server.URL+"/"))
	}
	rec := recordtest.New(t, "alertmanager", Reasons())
	sender, err := New(cfg, rec.Recorder)
	if err != nil {
		t.Fatal(err)
	}
	unknown := regions()
	unknown.Network.Unknown = &schema.Unknown{Reason: schema.LowCoverage}
	silent := regions()
	silent.Silent = []schema.SilentRegion{{ID: 2}}
	ahead := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for i, step := range []struct {
		take    *schema.IntervalResult // nil: none since the last step
		statusB int
		dateB   string
		statusA int
		all     bool
		want    string // what each member gets
		state   string // contained in the state; empty: it works
	}{
		{regions(1, 2), 200, "", 200, false, "1 fires, 2 fires", ""},
		{regions(1, 2), 200, "", 200, false, "", ""},
		{regions(1, 2), 200, "", 200, true, "1 fires, 2 fires", ""},
		{regions(2), 500, "", 200, false, "1 ended", ""}, // one member suffices
		{unknown, 200, "", 200, true, "1 ended, 2 fires", ""},
		{silent, 200, "", 200, true, "1 ended, 2 fires", ""},
		{regions(2, 3), 500, "", 503, false, "3 fires", "503 Service Unavailable: as the member says"},
		{nil, 200, ahead, 503, false, "3 fires", "ahead of this host's: alerts have expired when they arrive there"},
		{nil, 200, "", 503, false, "3 fires", ""},
		{nil, 200, "", 200, false, "", ""},
	} {
		a.status, b.status, b.date = step.statusA, step.statusB, step.dateB
		if step.take != nil {
			sender.Take(step.take)
		}
		sender.send(t.Context(), step.all)
		gotA, gotB := strings.Join(a.take(), ", "), strings.Join(b.take(), ", ")
		if state := rec.State(); gotA != step.want || gotB != step.want || (state == "") != (step.state == "") || !strings.Contains(state, step.state) {
			t.Errorf("step %d: %q and %q, want %q; state %q, want %q", i, gotA, gotB, step.want, state, step.state)
		}
	}
	sender.Forget("ib0")
	if sender.send(t.Context(), true); len(a.take()) > 0 || len(sender.incidents) > 0 {
		t.Error("the alerts of a fabric that another process owns are sent")
	}
	audit(t, rec, "fire 1", "fire 2", "resolve 1", "fire 3")
}

// audit checks the actions in the audit, in order.
func audit(t *testing.T, rec *recordtest.Recorder, want ...string) {
	t.Helper()
	ended, end := context.WithCancel(t.Context())
	end()
	if err := rec.Trail.Run(ended); err != nil { // stores what is left
		t.Error(err)
	}
	var got []string
	for _, act := range rec.Audit.Rows() {
		got = append(got, act.Action+" "+act.Target)
	}
	if !slices.Equal(got, want) {
		t.Errorf("audit %v, want %v", got, want)
	}
}

// A redirect is not followed: it would turn the POST into a GET, which Alertmanager answers with 200, and no alert would arrive.
func TestARedirectIsAFault(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v2/alerts" {
			http.Redirect(w, r, "/am/api/v2/alerts", http.StatusMovedPermanently)
		}
	}))
	defer server.Close()
	cfg := DefaultConfig()
	cfg.DryRun, cfg.URLs = false, []secret.URL{secret.NewURL(server.URL)}
	rec := recordtest.New(t, "alertmanager", Reasons())
	sender, err := New(cfg, rec.Recorder)
	if err != nil {
		t.Fatal(err)
	}
	sender.Take(regions(1))
	sender.send(t.Context(), false)
	if want := "answers 301 Moved Permanently: a redirect, which is not followed: set urls to its target, /am/api/v2/alerts"; !strings.Contains(rec.State(), want) {
		t.Errorf("state %q, want %q", rec.State(), want)
	}
	sender.Forget("ib0")
	if sender.send(t.Context(), true); rec.State() != "" {
		t.Errorf("without alerts: state %q", rec.State())
	}
	audit(t, rec)
}
