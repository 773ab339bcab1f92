package conformance

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/feedback/alertmanager"
	"github.com/giverny/giverny/feedback/record"
	"github.com/giverny/giverny/feedback/record/recordtest"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/test/metric"
	"github.com/giverny/giverny/schema"
)

// runAlerts sends alerts to members of a cluster until the test ends. state returns the health state.
func runAlerts(t *testing.T, change func(*alertmanager.Config), members ...string) (a *alertmanager.Alertmanager, state func() string) {
	t.Helper()
	return runRecorded(t, recordtest.New(t, "alertmanager", alertmanager.Reasons()).Recorder, change, members...)
}

func runRecorded(t *testing.T, rec *record.Recorder, change func(*alertmanager.Config), members ...string) (a *alertmanager.Alertmanager, state func() string) {
	t.Helper()
	cfg := alertmanager.DefaultConfig()
	cfg.Enabled, cfg.DryRun = true, false
	for _, m := range members {
		cfg.URLs = append(cfg.URLs, secret.NewURL(m))
	}
	if change != nil {
		change(&cfg)
	}
	a, err := alertmanager.New(cfg, rec)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running errgroup.Group
	running.Go(func() error { return a.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return a, rec.State
}

func regions(n int) (list []schema.Region) {
	for i := range n {
		list = append(list, schema.Region{ID: uint64(1000 + i), Metric: schema.CreditStall, Severity: schema.High, Mean: 31, Links: []schema.LinkID{1}, BirthNanos: time.Now().UnixNano()})
	}
	return list
}

// before is a proxy that answers for a member, or passes the request on to it.
func before(t *testing.T, member string, answer func(w http.ResponseWriter, r *http.Request) (through bool)) string {
	t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: member})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A member that hangs does not delay the others: no alert expires at a working member.
func TestAMemberThatHangsDelaysNoOther(t *testing.T) {
	member := startAlertmanager(t)
	hangs := before(t, member, func(_ http.ResponseWriter, r *http.Request) bool {
		io.Copy(io.Discard, r.Body) // the client's disconnect is detected only after this
		<-r.Context().Done()
		return false
	})
	a, _ := runAlerts(t, func(c *alertmanager.Config) { c.Resend, c.Timeout = 2*time.Second, 2*time.Second }, hangs, "http://"+member)
	const many = 700
	a.Take(result(1, regions(many)...))
	waitFor(t, "all alerts", func() bool { return len(alerts(t, member)) == many })
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); time.Sleep(200 * time.Millisecond) {
		if n := len(alerts(t, member)); n != many {
			t.Fatalf("%d of %d alerts are on", n, many)
		}
	}
}

// A dead member does not keep alerts from the others, and each failure is counted.
func TestADeadMemberIsCounted(t *testing.T) {
	member, recorder := startAlertmanager(t), recordtest.New(t, "alertmanager", alertmanager.Reasons())
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	a, state := runRecorded(t, recorder.Recorder, func(c *alertmanager.Config) { c.Resend = time.Second }, dead.URL, "http://"+member)
	a.Take(result(1, regions(2)...))
	waitFor(t, "the alerts", func() bool { return len(alerts(t, member)) == 2 })
	waitFor(t, "two faults", func() bool { return metric.Sum(t, recorder.Registry, "giverny_feedback_faults_total") >= 2 })
	if state() != "" {
		t.Errorf("health says %q though a member takes all", state())
	}
}

// Alerts that a member rejects or answers late are re-sent until accepted; health describes the problem meanwhile.
func TestAMemberThatRefusesForAWhile(t *testing.T) {
	member := startAlertmanager(t)
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		says   string
	}{
		"500":  {func(w http.ResponseWriter) { http.Error(w, "broken", 500) }, "answers 500 Internal Server Error: broken"},
		"429":  {func(w http.ResponseWriter) { w.Header().Set("Retry-After", "3600"); w.WriteHeader(429) }, "answers 429 Too Many Requests"},
		"slow": {func(http.ResponseWriter) { time.Sleep(2 * time.Second) }, "no answer from"},
		"cut":  {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, "no answer from"},
	} {
		var works atomic.Bool
		address := before(t, member, func(w http.ResponseWriter, _ *http.Request) bool {
			if works.Load() {
				return true
			}
			c.answer(w)
			return false
		})
		a, state := runAlerts(t, func(c *alertmanager.Config) { c.Resend, c.Timeout = time.Second, time.Second }, address)
		a.Take(result(1, regions(2)...))
		waitFor(t, name+": the state to say so", func() bool { return strings.Contains(state(), c.says) })
		works.Store(true)
		waitFor(t, name+": the alerts", func() bool { return len(alerts(t, member)) == 2 && state() == "" })
		works.Store(false)
		a.Take(result(2))
		waitFor(t, name+": the state to say that the end is not sent", func() bool { return strings.Contains(state(), fmt.Sprint(c.says)) })
		works.Store(true)
		waitFor(t, name+": the end", func() bool { return len(alerts(t, member)) == 0 && state() == "" })
	}
}

// A member whose clock is far ahead treats every alert as ended: health reports this fault.
func TestAMemberWhoseClockIsAhead(t *testing.T) {
	address := before(t, startAlertmanager(t), func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		return false
	})
	a, state := runAlerts(t, nil, address)
	a.Take(result(1, regions(1)...))
	waitFor(t, "the state to say so", func() bool {
		return strings.Contains(state(), "is 1h0m0s ahead of this host's") || strings.Contains(state(), "is 59m59s ahead of this host's")
	})
}
