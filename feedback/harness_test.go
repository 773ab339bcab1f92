package feedback_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/feedback"
	"github.com/giverny/giverny/feedback/record/recordtest"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// hub is a running hub over a fat tree (k=4, hosts host0 to host15).
type hub struct {
	*feedback.Hub
	graph    *topology.Graph
	registry *prometheus.Registry
	mux      *http.ServeMux
	audit    *recordtest.Audit
	interval int64
	end      func() error
}

// newHub creates a hub without running it.
func newHub(t *testing.T, cfg feedback.Config, set ...func(*feedback.Deps)) (*hub, error) {
	t.Helper()
	g := topologytest.Parse(t, "ib0", "fattree:k=4")
	h := &hub{graph: g, registry: prometheus.NewRegistry(), mux: http.NewServeMux(), audit: &recordtest.Audit{}, interval: time.Now().UnixNano() / int64(time.Minute)}
	log := slog.New(slog.NewTextHandler(testLog{t}, nil))
	deps := feedback.Deps{Log: log, Registerer: h.registry, Audit: h.audit, StopTimeout: 30 * time.Second, MaxAge: map[string]time.Duration{g.Fabric(): 10 * time.Minute}}
	for _, set := range set {
		set(&deps)
	}
	var err error
	h.Hub, err = feedback.New(cfg, []*topology.Graph{g}, deps)
	return h, err
}

func startHub(t *testing.T, cfg feedback.Config, set ...func(*feedback.Deps)) *hub {
	t.Helper()
	h, err := newHub(t, cfg, set...)
	if err != nil {
		t.Fatal(err)
	}
	h.Register(h.mux)
	ctx, cancel := context.WithCancel(context.Background())
	recording, stop := context.WithCancel(context.Background())
	var acting, writing errgroup.Group
	for _, p := range h.Parts() {
		acting.Go(func() error { return p.Run(ctx) })
	}
	writing.Go(func() error { return h.Audit(recording) })
	h.end = sync.OnceValue(func() error {
		cancel()
		err := acting.Wait()
		stop()
		writing.Wait()
		return err
	})
	t.Cleanup(func() { h.end() })
	return h
}

type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	if os.Getenv("GIVERNY_TEST_LOG") != "" {
		os.Stderr.Write(p)
	}
	return len(p), nil
}

// result returns the result of the next interval, with the given regions.
func (h *hub) result(regions ...schema.Region) *schema.IntervalResult {
	h.interval++
	return &schema.IntervalResult{Regions: regions, Snapshot: &schema.Snapshot{Fabric: h.graph.Fabric(), GraphVersion: h.graph.Version(),
		Interval: schema.Interval{StartNanos: h.interval * int64(time.Minute), DurationNanos: int64(time.Minute)}}}
}

// region returns a region of the hosts' own links.
func (h *hub) region(t *testing.T, severity schema.Severity, hosts ...string) schema.Region {
	t.Helper()
	r := schema.Region{ID: 42, Severity: severity, Mean: [...]float64{1, 10, 20, 45}[severity], Name: "a region\nwith \"marks\""}
	for _, name := range hosts {
		dev, ok := h.graph.FindDevice(name)
		if !ok {
			t.Fatalf("no host %s among %v", name, h.graph.Device(h.graph.Hosts()[0]).Name)
		}
		r.Links = append(r.Links, h.graph.LinksAt(dev)...)
	}
	r.Size = len(r.Links)
	return r
}

func (h *hub) put(t *testing.T, r *schema.IntervalResult) {
	t.Helper()
	for _, s := range h.Sinks(h.graph.Fabric()) {
		if err := s.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

func (h *hub) congest(t *testing.T, severity schema.Severity, hosts ...string) {
	t.Helper()
	h.put(t, h.result(h.region(t, severity, hosts...)))
}

func (h *hub) relieve(t *testing.T) { t.Helper(); h.put(t, h.result()) }

// state describes all failing parts.
func (h *hub) state() string {
	var all []string
	for _, p := range h.Parts() {
		if s := p.State(); s != "" {
			all = append(all, p.Name+": "+s)
		}
	}
	return strings.Join(all, "; ")
}

// audited formats each row of the audit: action, target, outcome.
func (h *hub) audited() string {
	var b strings.Builder
	for _, a := range h.audit.Rows() {
		fmt.Fprintf(&b, "%s %s %s", a.Action, a.Target, a.Outcome)
		if a.DryRun {
			b.WriteString(" dry")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (h *hub) wantAudit(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		h.await(t, "the audit to have "+line, func() bool { return strings.Contains(h.audited(), line+"\n") })
	}
}

func (h *hub) await(t *testing.T, what string, done func() bool) {
	t.Helper()
	if !await.Holds(time.Minute, 20*time.Millisecond, done) {
		t.Fatalf("waited for %s; state %q, audit\n%s", what, h.state(), h.audited())
	}
}
