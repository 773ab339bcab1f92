package feedback_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/feedback"
	"github.com/giverny/giverny/feedback/notice"
	"github.com/giverny/giverny/feedback/record/recordtest"
	"github.com/giverny/giverny/feedback/webhook"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/schema"
)

// Nothing acts on a fabric that feedback.fabrics leaves out.
func TestOnlyListedFabricsAreActedOn(t *testing.T) {
	cfg := extenderConfig(t)
	h, err := newHub(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if all := h.Sinks("ib0"); len(all) != 1 {
		t.Errorf("%d sinks without a list", len(all))
	}
	cfg.Fabrics = []string{"ib0"}
	if h, err = newHub(t, cfg); err != nil {
		t.Fatal(err)
	}
	if listed, other := h.Sinks("ib0"), h.Sinks("ib1"); len(listed) != 1 || len(other) != 0 {
		t.Errorf("%d sinks of the listed fabric, %d of another", len(listed), len(other))
	}
	cfg.Fabrics = []string{"ib1"}
	if _, err := newHub(t, cfg); err == nil || !strings.Contains(err.Error(), `feedback.fabrics: "ib1" is not under fabrics`) {
		t.Errorf("error %v", err)
	}
}

// Of two adapters of a node the higher score counts, in whatever order they come.
func TestTheWorstAdapterOfANodeCounts(t *testing.T) {
	cfg := extenderConfig(t)
	cfg.Kubernetes.NodeMap = t.TempDir() + "/nodes"
	if err := os.WriteFile(cfg.Kubernetes.NodeMap, []byte("a\thost0\na\thost3\nb\thost5\nb\thost2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	h := startHub(t, cfg)
	low := h.region(t, schema.Low, "host0", "host5")
	low.ID++
	h.put(t, h.result(h.region(t, schema.High, "host3", "host2"), low))
	if got := h.failed(t, "a", "b", "host9"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("failed %v", got)
	}
}

// follower is what the pipeline needs of a webhook's sink.
type follower interface {
	feedback.Sink
	Last(ctx context.Context) (int64, error)
}

// A notice that cannot be queued is a state of the webhook and tried again, until the process stops: then an error, so that the
// interval comes again. A process that shares its fabrics with others begins
// before now, so that it knows the incidents that another one has announced.
func TestTheSinkOfAWebhook(t *testing.T) {
	for _, shared := range []bool{false, true} {
		cfg := feedback.DefaultConfig()
		cfg.Dir = t.TempDir()
		var hook webhook.Config
		hook.SetDefaults()
		hook.Name, hook.Enabled, hook.DryRun, hook.URL, hook.Secret = "tickets", true, false, secret.NewURL("http://127.0.0.1:1"), secret.NewText("0123456789abcdef")
		off := hook
		off.Name, off.Enabled = "off", false
		cfg.Webhooks = []webhook.Config{hook, off}
		h, err := newHub(t, cfg, func(d *feedback.Deps) { d.Shared = shared })
		if err != nil {
			t.Fatal(err)
		}
		sinks := h.Sinks("ib0")
		if len(sinks) != 1 || sinks[0].Name() != "webhook tickets" {
			t.Fatalf("%d sinks", len(sinks))
		}
		f := sinks[0].(follower)
		last, err := f.Last(t.Context())
		if ago := time.Since(time.Unix(0, last)); err != nil || !shared && last != 0 || shared && (ago < notice.FlapWindow || ago > notice.FlapWindow+time.Minute) {
			t.Errorf("shared %v: nothing was announced, the last is %d, %v", shared, last, err)
		}
		r := h.result(h.region(t, schema.High, "host3"))
		if err := f.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if last, err := f.Last(t.Context()); err != nil || last != r.Snapshot.Interval.StartNanos {
			t.Errorf("shared %v: the last is %d, %v; want that of the interval", shared, last, err)
		}
		if err := os.RemoveAll(cfg.Dir); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		if err := f.Put(ctx, h.result(h.region(t, schema.High, "host3"))); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(h.state(), "feedback webhook-tickets: notices cannot be queued: ") {
			t.Errorf("shared %v: without its folder: error %v, state %q", shared, err, h.state())
		}
		if err := os.MkdirAll(filepath.Join(cfg.Dir, "webhook-tickets"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := f.Put(t.Context(), h.result(h.region(t, schema.High, "host3"))); err != nil || h.state() != "" {
			t.Errorf("shared %v: with its folder: error %v, state %q", shared, err, h.state())
		}
	}
}

// A mark that cannot be lifted is an error that names its sink; the other marks are lifted nevertheless.
func TestAMarkThatCannotBeLifted(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	cfg := feedback.DefaultConfig()
	cfg.Kubernetes.Nodes.URL = secret.NewURL(server.URL)
	marks := []schema.FeedbackAction{{Sink: "kubernetes-nodes", Fabric: "ib0", Target: "n1", After: "no state"}, {Sink: "slurm", Fabric: "ib0", Target: "n2"}}
	cfg.Slurm.Scontrol = []string{"/does/not/exist"}
	_, err := feedback.Lift(t.Context(), &cfg, marks, "its host is lost", &recordtest.Audit{}, slog.New(slog.DiscardHandler))
	for _, sink := range []string{"slurm: ", "kubernetes-nodes: "} {
		if err == nil || !strings.Contains(err.Error(), sink) {
			t.Errorf("error %v, want one of %s", err, sink)
		}
	}
}
