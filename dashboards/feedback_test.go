//go:build engine || integration

package dashboards

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/internal/test/metric"
	"github.com/giverny/giverny/schema"
)

// ask asks for scores and returns status, ETag and body.
func (h *house) ask(t *testing.T, query, etag string) (int, string, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+"/api/v1/fabrics/"+tree+"/feedback/nodes?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	validate(t, request, response, body)
	return response.StatusCode, response.Header.Get("ETag"), string(body)
}

// soon is an instant that is still recent on a slow machine.
func soon() int64 { return time.Now().Add(time.Minute).UnixNano() / second * second }

func TestScoresOfNodes(t *testing.T) {
	h := open(t, tree)
	g := h.graph(tree)
	status, empty, body := h.ask(t, "", "")
	if status != http.StatusOK || !strings.Contains(body, `"no_interval"`) || !strings.Contains(body, `"nodes":[]`) {
		t.Errorf("while nothing is stored: %d %s", status, body)
	}
	now := soon()
	r := busy(g, now)
	r.Regions = []schema.Region{hot(g, 9, schema.High, 0, 1)}
	h.store(g, r)
	status, tag, body := h.ask(t, "min=1", empty)
	if status != http.StatusOK || tag == empty || !strings.Contains(body, `"live":true`) || !strings.Contains(body, `"region":"9"`) {
		t.Fatalf("%d %s %s", status, tag, body)
	}
	for name, header := range map[string]string{"it": tag, "strong": strings.TrimPrefix(tag, "W/"), "a list": `"x", ` + tag, "any": "*"} {
		if status, again, body := h.ask(t, "min=1", header); status != http.StatusNotModified || again != tag || body != "" {
			t.Errorf("%s: %d %s %q", name, status, again, body)
		}
	}
	if status, _, _ := h.ask(t, "min=1", `"other"`); status != http.StatusOK {
		t.Errorf("another tag: %d", status)
	}
	if _, _, body := h.ask(t, "min=100", ""); !strings.Contains(body, `"nodes":[]`) {
		t.Errorf("of the score 100: %s", body)
	}
	for _, query := range []string{"wait=1h", "wait=-1s", "wait=soon", "min=101", "min=x", "min=NaN"} {
		if status, _, body := h.ask(t, query, ""); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
}

// A long poll is answered when an interval is stored, and not before.
func TestLongPoll(t *testing.T) {
	h := open(t, tree)
	g := h.graph(tree)
	now := soon()
	h.store(g, busy(g, now-second))
	_, tag, _ := h.ask(t, "", "")
	type answer struct {
		status int
		tag    string
	}
	answers := make(chan answer, 1)
	go func() {
		status, tag, _ := h.ask(t, "wait=60s", tag)
		answers <- answer{status, tag}
	}()
	eventually(t, "a listener", func() bool {
		h.intervals.mu.Lock()
		defer h.intervals.mu.Unlock()
		return len(h.intervals.listeners) > 0
	})
	select {
	case a := <-answers:
		t.Fatalf("answered before there was news: %+v", a)
	case <-time.After(200 * time.Millisecond):
	}
	next := busy(g, now)
	next.Regions = nil
	h.store(g, next)
	if err := h.Put(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	select {
	case a := <-answers:
		if a.status != http.StatusOK || a.tag == tag {
			t.Errorf("%+v, before %s", a, tag)
		}
	case <-time.After(time.Minute):
		t.Fatal("no answer")
	}
	began := time.Now()
	if status, _, _ := h.ask(t, "wait=300ms", "*"); status != http.StatusNotModified || time.Since(began) < 300*time.Millisecond {
		t.Errorf("a wait in vain: %d after %v", status, time.Since(began))
	}
}

// Many clients that wait for the same interval cost the store as much as one.
func TestManyLongPolls(t *testing.T) {
	reg := prometheus.NewRegistry()
	db, _ := databaseIn(t, reg)
	h := serve(t, db, tree)
	g := h.graph(tree)
	now := soon()
	h.store(g, busy(g, now-second))
	_, tag, _ := h.ask(t, "", "")
	const clients = 100
	var waiting sync.WaitGroup
	for range clients {
		waiting.Go(func() {
			if status, again, _ := h.ask(t, "wait=60s", tag); status != http.StatusOK || again == tag {
				t.Errorf("%d %s", status, again)
			}
		})
	}
	eventually(t, "listeners", func() bool {
		h.intervals.mu.Lock()
		defer h.intervals.mu.Unlock()
		return len(h.intervals.listeners) == clients
	})
	time.Sleep(2 * time.Second)
	next := busy(g, now)
	next.Regions = nil
	h.store(g, next)
	if err := h.Put(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	waiting.Wait()
	asked := func(query string) float64 { return metric.Sum(t, reg, "giverny_store_query_seconds", query) }
	if states, last := asked("network_states"), asked("last_interval"); states != 2 || last > clients { // scores of two intervals
		t.Errorf("%d clients had the store asked for %v network states and %v last intervals", clients, states, last)
	}
}

// Feedback's actions are read back, newest first.
func TestActionsOfFeedback(t *testing.T) {
	h := open(t, tree)
	h.store(h.graph(tree), busy(h.graph(tree), noon))
	rows := []schema.FeedbackAction{{Time: schema.Instant(noon - second), Sink: "slurm", Action: "mark", Target: "host0", Outcome: schema.FeedbackDone, Reason: "why", Score: 70, Before: "1", After: "2"},
		{Time: schema.Instant(noon), Sink: "slurm", Action: "relieve", Target: "host0", Outcome: schema.FeedbackDone, DryRun: true}}
	for range 2 { // the same list counts once
		if err := h.db.StoreFeedback(t.Context(), tree, rows); err != nil {
			t.Fatal(err)
		}
	}
	got := decode[struct{ Actions []schema.FeedbackAction }](t, h.get("fabrics/"+tree+"/feedback/actions", http.StatusOK)).Actions
	rows[0].Fabric, rows[1].Fabric = tree, tree
	if len(got) != 2 || got[0] != rows[1] || got[1] != rows[0] {
		t.Errorf("got %+v", got)
	}
}
