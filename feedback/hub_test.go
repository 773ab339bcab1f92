package feedback_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/feedback"
	"github.com/giverny/giverny/feedback/record/recordtest"
	"github.com/giverny/giverny/feedback/webhook"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/test/metric"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// By default there are no actions and no listeners.
func TestNothingActsByDefault(t *testing.T) {
	cfg := feedback.DefaultConfig()
	cfg.Dir = filepath.Join(t.TempDir(), "none")
	h := startHub(t, cfg)
	if len(h.Parts()) > 0 || len(h.Sinks("ib0")) > 0 {
		t.Errorf("%d parts, %d sinks", len(h.Parts()), len(h.Sinks("ib0")))
	}
	if _, err := os.Stat(cfg.Dir); !os.IsNotExist(err) {
		t.Errorf("a folder was made: %v", err)
	}
	if w := h.filter(t, "host0"); w.Code != http.StatusNotFound {
		t.Errorf("the extender answers %d", w.Code)
	}
}

// A pattern that matches no node, such as a typo, is reported at the start and by config check.
func TestPatternsThatMatchNothing(t *testing.T) {
	for _, c := range []struct {
		allow []string
		want  string // in the log; empty: nothing
	}{
		{[]string{"hots*", "host[0-3]", "gpu-*"}, `patterns="[hots* gpu-*]" nodes=16 example=host0`},
		{[]string{"host1?", "n1"}, ""},
	} {
		names := filepath.Join(t.TempDir(), "names")
		if err := os.WriteFile(names, []byte("n1\thost1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg := feedback.DefaultConfig()
		cfg.Dir, cfg.Slurm.Enabled, cfg.Slurm.NodeMap, cfg.Slurm.Policy.Allow = t.TempDir(), true, names, c.allow
		g := topologytest.Parse(t, "ib0", "fattree:k=4")
		var log strings.Builder
		deps := feedback.Deps{Log: slog.New(slog.NewTextHandler(&log, nil)), Registerer: prometheus.NewRegistry(), Audit: &recordtest.Audit{}}
		if _, err := feedback.New(cfg, []*topology.Graph{g}, deps); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), c.want) || c.want == "" && log.Len() > 0 {
			t.Errorf("%v: logged %q, want %q", c.allow, log.String(), c.want)
		}
	}
}

// filter asks the extender which of the nodes pass.
func (h *hub) filter(t *testing.T, names ...string) *httptest.ResponseRecorder {
	t.Helper()
	body, err := json.Marshal(map[string]any{"Pod": map[string]any{}, "NodeNames": names})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/feedback/kubernetes/filter", strings.NewReader(string(body))))
	return w
}

func (h *hub) failed(t *testing.T, names ...string) (failed []string) {
	t.Helper()
	var answer struct{ FailedNodes map[string]string }
	if err := json.Unmarshal(h.filter(t, names...).Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	for name := range answer.FailedNodes {
		failed = append(failed, name)
	}
	slices.Sort(failed)
	return failed
}

func extenderConfig(t *testing.T) feedback.Config {
	t.Helper()
	cfg := feedback.DefaultConfig()
	cfg.Dir = t.TempDir()
	e := &cfg.Kubernetes.Extender
	e.Enabled, e.DryRun, e.Allow = true, false, []string{"*"}
	return cfg
}

// Scores use the scheduler's node names: those in the file, else those of the topology;
// of two devices on one node the worse counts.
func TestNamesOfTheScheduler(t *testing.T) {
	cfg := extenderConfig(t)
	cfg.Kubernetes.NodeMap = filepath.Join(t.TempDir(), "nodes")
	if err := os.WriteFile(cfg.Kubernetes.NodeMap, []byte("# node\tdevice\ngpu-1\thost0\ngpu-1\thost3\r\n\ngpu-2\thost2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	h := startHub(t, cfg)
	h.congest(t, schema.High, "host3", "host5")
	if got := h.failed(t, "gpu-1", "gpu-2", "host3", "host5", "host6"); !slices.Equal(got, []string{"gpu-1", "host5"}) {
		t.Errorf("failed %v", got)
	}
	h.relieve(t)
	if got := h.failed(t, "gpu-1", "host5", "host6"); len(got) > 0 {
		t.Errorf("after the relief %v failed", got)
	}
	if err := os.WriteFile(cfg.Kubernetes.NodeMap, []byte("nid[0001-0002]\thost[0-1]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg.Dir = t.TempDir()
	lists := startHub(t, cfg)
	lists.congest(t, schema.High, "host1")
	if got := lists.failed(t, "nid0001", "nid0002", "host1"); !slices.Equal(got, []string{"nid0002"}) {
		t.Errorf("of host lists failed %v", got)
	}
	for text, want := range map[string]string{"gpu-1 host0\n": "want node, tab, device", "a\thost0\nb\thost0\n": `host0" is mapped to nodes "a" and "b"`} {
		if err := os.WriteFile(cfg.Kubernetes.NodeMap, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := newHub(t, cfg); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "feedback.kubernetes.node_map") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A result is scored with the topology version it belongs to; a result of an unknown
// version is skipped.
func TestVersionsOfTheFabric(t *testing.T) {
	h := startHub(t, extenderConfig(t))
	other := topologytest.Parse(t, "ib0", "fattree:k=6")
	old := h.graph
	h.graph = other
	h.congest(t, schema.High, "host4")
	if got := h.failed(t, "host4", "host5"); len(got) > 0 {
		t.Errorf("by a version that is not known %v failed", got)
	}
	if err := h.SetGraph(other); err != nil {
		t.Fatal(err)
	}
	h.congest(t, schema.High, "host4")
	if got := h.failed(t, "host4", "host5"); !slices.Equal(got, []string{"host4"}) {
		t.Errorf("failed %v", got)
	}
	h.graph = old
	h.congest(t, schema.High, "host7")
	if got := h.failed(t, "host4", "host7"); !slices.Equal(got, []string{"host7"}) {
		t.Errorf("by the version before, %v failed", got)
	}
}

// Nothing is done about intervals that ended longer ago than the limit: each is counted, and the log says once that the
// analysis catches up, and once that it has. Without a limit all are acted on.
func TestPastIntervalsAreSkipped(t *testing.T) {
	for name, c := range map[string]struct {
		limit   time.Duration
		skipped float64
		failed  []string
		said    int
	}{
		"limit":    {10 * time.Minute, 2, nil, 2},
		"no limit": {0, 0, []string{"host4"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var said strings.Builder
			h := startHub(t, extenderConfig(t), func(d *feedback.Deps) {
				d.MaxAge["ib0"], d.Log = c.limit, slog.New(slog.NewTextHandler(&said, nil))
			})
			if n, err := testutil.GatherAndCount(h.registry, "giverny_feedback_intervals_skipped_total"); n != 2 || err != nil {
				t.Errorf("at the start %d reasons, %v", n, err)
			}
			h.interval -= 13 // the next ones end 12 and 11 minutes ago, or a little more
			for range 2 {
				h.congest(t, schema.High, "host4")
			}
			if got := h.failed(t, "host4", "host5"); !slices.Equal(got, c.failed) {
				t.Errorf("by past intervals %v failed", got)
			}
			h.interval += 5
			h.congest(t, schema.High, "host5")
			if got := h.failed(t, "host4", "host5"); !slices.Equal(got, []string{"host5"}) {
				t.Errorf("by the newest interval %v failed", got)
			}
			if n := metric.Sum(t, h.registry, "giverny_feedback_intervals_skipped_total", "past"); n != c.skipped {
				t.Errorf("%v intervals skipped, want %v", n, c.skipped)
			}
			if n := strings.Count(said.String(), "catching up with past intervals"); n != c.said {
				t.Errorf("logged %d times, want %d:\n%s", n, c.said, &said)
			}
		})
	}
}

// A webhook misses no interval, because it knows the last one processed. A fabric can
// be excluded.
func TestWebhooksFollow(t *testing.T) {
	cfg := feedback.DefaultConfig()
	cfg.Dir = t.TempDir()
	var hook webhook.Config
	hook.SetDefaults()
	hook.Name, hook.Enabled, hook.URL, hook.Secret = "tickets", true, secret.NewURL("http://127.0.0.1:1"), secret.NewText("0123456789abcdef")
	cfg.Webhooks = []webhook.Config{hook}
	h := startHub(t, cfg)
	sinks := h.Sinks("ib0")
	if len(sinks) != 1 || sinks[0].Name() != "webhook tickets" {
		t.Fatalf("sinks %v", sinks)
	}
	f, ok := sinks[0].(interface {
		Last(context.Context) (int64, error)
	})
	if !ok {
		t.Fatal("it is no pipeline.Follower")
	}
	if last, err := f.Last(t.Context()); err != nil || last != 0 {
		t.Errorf("before the first %d, %v", last, err)
	}
	r := h.result(h.region(t, schema.High, "host0"))
	r.Regions[0].Metric = schema.CreditStall
	h.put(t, r)
	if last, err := f.Last(t.Context()); err != nil || last != r.Snapshot.Interval.StartNanos {
		t.Errorf("last %d, %v", last, err)
	}
	h.await(t, "the audit", func() bool { return len(h.audit.Rows()) > 0 })
	h.wantAudit(t, "deliver "+h.audit.Rows()[0].Target+" done dry")
	cfg.Fabrics = []string{"ib1"}
	if _, err := newHub(t, cfg); err == nil || !strings.Contains(err.Error(), `feedback.fabrics: "ib1"`) {
		t.Errorf("a fabric that is none: %v", err)
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	cfg := feedback.Config{Webhooks: []webhook.Config{{Name: "a"}, {Name: "a"}}}
	err := cfg.Validate()
	for _, key := range []string{"slurm.weight", "kubernetes.extender.max_age", "kubernetes.nodes.timeout", "webhooks.0.timeout", "webhooks.1.name", "alertmanager.resend"} {
		if err == nil || !strings.Contains(err.Error(), key+":") {
			t.Errorf("no fault of %s in %v", key, err)
		}
	}
}

// A damaged journal of a disabled sink does not matter; that of an enabled one shows in the state.
func TestADamagedJournalIsAState(t *testing.T) {
	cfg := feedback.DefaultConfig()
	cfg.Dir = t.TempDir()
	if err := os.MkdirAll(filepath.Join(cfg.Dir, "slurm"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cfg.Dir, "slurm", "journal.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if h := startHub(t, cfg); len(h.Parts()) > 0 {
		t.Errorf("%d parts", len(h.Parts()))
	}
	cfg.Slurm.Enabled, cfg.Slurm.Policy.Allow = true, []string{"*"}
	h := startHub(t, cfg)
	h.await(t, "the state", func() bool { return strings.Contains(h.state(), "restore them with giverny feedback lift") })
}

// What a disabled sink would need does not prevent the start.
func TestADisabledSinkNeedsNothing(t *testing.T) {
	cfg := feedback.DefaultConfig()
	cfg.Dir = t.TempDir()
	cfg.Slurm.REST.URL, cfg.Slurm.REST.CA = secret.NewURL("https://slurm:6820"), "/nowhere/ca.pem"
	cfg.Kubernetes.Nodes.CA = "/nowhere/ca.pem"
	if _, err := newHub(t, cfg); err != nil {
		t.Error(err)
	}
}
