// Package feedback acts on the results of the analysis: it asks schedulers to place jobs away from congestion and
// notifies other systems of regions. Input: the interval results of the fabrics. Output: the actions of its sinks slurm,
// kubernetes, webhook and alertmanager. Every sink is disabled by default, a dry run when first enabled, restricted by an
// allow list, a maximum count and a rate limit, audited, and undone when it ends.
package feedback

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/feedback/alertmanager"
	"github.com/giverny/giverny/feedback/kubernetes"
	"github.com/giverny/giverny/feedback/policy"
	"github.com/giverny/giverny/feedback/reconcile"
	"github.com/giverny/giverny/feedback/record"
	"github.com/giverny/giverny/feedback/slurm"
	"github.com/giverny/giverny/feedback/webhook"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/topology"
)

// Deps are the dependencies of feedback; all are required.
type Deps struct {
	Log        *slog.Logger
	Registerer prometheus.Registerer
	Audit      record.Store
	// StopTimeout bounds the time for undoing all changes at shutdown.
	StopTimeout time.Duration
	// MaxAge is, by fabric, how long after its end an interval is still acted on; no entry: always.
	MaxAge map[string]time.Duration
	// Shared is set if fabrics can move between processes.
	Shared bool
}

// Part is a sink with a Run loop.
type Part struct {
	Name  string
	Run   func(ctx context.Context) error // blocks until ctx ends and all changes are undone
	State func() string                   // describes the current failure; empty: healthy
}

// Hub holds the enabled parts.
type Hub struct {
	cfg      Config
	deps     Deps
	log      *slog.Logger
	metrics  *record.Metrics
	skipped  *prometheus.CounterVec
	trail    *record.Trail
	parts    []Part
	takers   []taker
	webhooks []*webhook.Webhook
	alerts   *alertmanager.Alertmanager
	extender *kubernetes.Extender

	mu     sync.Mutex // guards graphs
	graphs map[string][]*topology.Graph
}

// taker accepts scores, with nodes under its scheduler's names.
type taker struct {
	names  nodeMap
	take   func(reconcile.Scores)
	forget func(fabric string)
}

// New creates the parts that the configuration enables. Nothing acts before it is run.
func New(cfg Config, graphs []*topology.Graph, deps Deps) (*Hub, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("feedback: %w", err)
	}
	metrics, err := record.NewMetrics(deps.Registerer)
	if err != nil {
		return nil, err
	}
	skipped, err := newSkipped(deps.Registerer)
	if err != nil {
		return nil, err
	}
	h := &Hub{cfg: cfg, deps: deps, log: deps.Log, metrics: metrics, skipped: skipped, trail: record.NewTrail(deps.Audit, metrics), graphs: map[string][]*topology.Graph{}}
	for _, g := range graphs {
		h.graphs[g.Fabric()] = []*topology.Graph{g}
	}
	for _, name := range cfg.Fabrics {
		if h.graphs[name] == nil {
			return nil, fmt.Errorf("feedback.fabrics: %q is not under fabrics", name)
		}
	}
	for _, make := range []func() error{h.makeSlurm, h.makeExtender, h.makeNodes, h.makeWebhooks, h.makeAlertmanager} {
		if err := make(); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// Recorder returns a recorder for a sink, which may be one of another package.
func (h *Hub) Recorder(sink string, reasons []string) *record.Recorder {
	return record.New(sink, reasons, h.metrics, h.trail, h.log)
}

func (h *Hub) makeSlurm() error {
	cfg := h.cfg.Slurm
	if !cfg.Enabled && !h.leftBehind(sinkSlurm) {
		return nil
	}
	s, err := slurm.New(cfg, h.log)
	if err != nil {
		return err
	}
	return h.addReconciler(sinkSlurm, "feedback.slurm", cfg.NodeMap, s, reconcile.Config{DryRun: cfg.DryRun, Idle: !cfg.Enabled, Policy: cfg.Policy})
}

func (h *Hub) makeNodes() error {
	cfg := h.cfg.Kubernetes.Nodes
	if !cfg.Enabled && !h.leftBehind(sinkNodes) {
		return nil
	}
	nodes, err := kubernetes.NewNodes(cfg, h.log)
	if err != nil {
		return err
	}
	return h.addReconciler(sinkNodes, "feedback.kubernetes", h.cfg.Kubernetes.NodeMap, nodes, reconcile.Config{DryRun: cfg.DryRun, Idle: !cfg.Enabled, Policy: cfg.Policy,
		Marks: nodes.Marks(), Earlier: func(marks string) (reconcile.Scheduler, error) { return nodes.Marking(marks) }})
}

// addReconciler adds the reconciler of a scheduler that is enabled, or disabled with nodes that an earlier run left marked,
// which it restores, as a dry run does.
func (h *Hub) addReconciler(name, key, mapPath string, s reconcile.Scheduler, cfg reconcile.Config) error {
	cfg.Dir, cfg.StopTimeout = filepath.Join(h.cfg.Dir, name), h.deps.StopTimeout
	names, err := readNodeMap(mapPath)
	if err != nil {
		return faults.At(key, err)
	}
	h.warnUnknown(name, names)
	if !cfg.Idle {
		h.warnAllow(name, names, cfg.Policy.Allow)
	}
	rec := h.Recorder(name, reconcile.Reasons())
	r := reconcile.New(cfg, s, rec, h.log)
	h.parts = append(h.parts, Part{Name: "feedback " + name, Run: r.Run, State: rec.State})
	if !cfg.Idle {
		h.takers = append(h.takers, taker{names, r.Take, r.Forget})
	}
	return nil
}

// leftBehind reports whether an earlier run of a sink that is now disabled left nodes
// marked.
func (h *Hub) leftBehind(name string) bool {
	left, err := reconcile.LeftBehind(filepath.Join(h.cfg.Dir, name))
	if err != nil { // the sink is disabled, so this must not prevent the start
		h.log.Error("feedback: journal of a disabled sink not readable", "sink", name, "error", err)
	}
	return len(left) > 0
}

func (h *Hub) warnUnknown(sink string, names nodeMap) {
	newest := map[string]*topology.Graph{}
	for fabric, graphs := range h.graphs {
		newest[fabric] = graphs[0]
	}
	if unknown := names.unknownDevices(newest); len(unknown) > 0 {
		slices.Sort(unknown)
		h.log.Warn("feedback: devices of the node map are not in any topology", "sink", sink, "devices", len(unknown), "first", unknown[0])
	}
}

// warnAllow logs allow patterns that match no node of the fabrics, such as typos.
func (h *Hub) warnAllow(sink string, names nodeMap, allow []string) {
	var all []string
	for fabric, graphs := range h.graphs {
		if len(h.cfg.Fabrics) > 0 && !slices.Contains(h.cfg.Fabrics, fabric) {
			continue
		}
		for _, host := range graphs[0].Hosts() {
			all = append(all, names.nodeOf(graphs[0].Device(host).Name))
		}
	}
	if len(all) == 0 {
		return
	}
	if wrong := policy.Unmatched(allow, all); len(wrong) > 0 {
		h.log.Warn("feedback: patterns of allow match no node of the fabrics", "sink", sink, "patterns", wrong, "nodes", len(all), "example", slices.Min(all))
	}
}

func (h *Hub) makeExtender() error {
	cfg := h.cfg.Kubernetes
	if !cfg.Extender.Enabled {
		return nil
	}
	names, err := readNodeMap(cfg.NodeMap)
	if err != nil {
		return faults.At("feedback.kubernetes", err)
	}
	h.warnAllow("kubernetes-extender", names, cfg.Extender.Allow)
	h.extender = kubernetes.NewExtender(cfg.Extender, h.Recorder("kubernetes-extender", kubernetes.ExtenderReasons()), h.log)
	h.takers = append(h.takers, taker{names, h.extender.Take, h.extender.Forget})
	return nil
}

func (h *Hub) makeWebhooks() error {
	for _, cfg := range h.cfg.Webhooks {
		if !cfg.Enabled {
			continue
		}
		name := "webhook-" + cfg.Name
		rec := h.Recorder(name, webhook.Reasons())
		w, err := webhook.New(cfg, filepath.Join(h.cfg.Dir, name), rec, h.log)
		if err != nil {
			return fmt.Errorf("feedback.webhooks: %w", err)
		}
		h.webhooks = append(h.webhooks, w)
		h.parts = append(h.parts, Part{Name: "feedback " + name, Run: w.Run, State: w.State})
	}
	return nil
}

func (h *Hub) makeAlertmanager() (err error) {
	if !h.cfg.Alertmanager.Enabled {
		return nil
	}
	rec := h.Recorder("alertmanager", alertmanager.Reasons())
	if h.alerts, err = alertmanager.New(h.cfg.Alertmanager, rec); err != nil {
		return err
	}
	h.parts = append(h.parts, Part{Name: "feedback alertmanager", Run: h.alerts.Run, State: rec.State})
	return nil
}

// Parts lists the parts to run. They must be stopped before Audit.
func (h *Hub) Parts() []Part { return h.parts }

// Audit writes the audit log until ctx ends; it is stopped last.
func (h *Hub) Audit(ctx context.Context) error {
	err := h.trail.Run(ctx)
	if n := h.trail.Waiting(); n > 0 {
		h.log.Error("feedback: audit rows dropped, the store did not accept them before the stop; the log has them as feedback: action", "rows", n)
	}
	return err
}

// Register adds the HTTP handlers to mux.
func (h *Hub) Register(mux *http.ServeMux) {
	if h.extender != nil {
		h.extender.Register(mux)
	}
}

// keepGraphs is how many topology versions are kept per fabric: results of the previous
// one may still arrive.
const keepGraphs = 4

// SetGraph adds a new topology version of a fabric.
func (h *Hub) SetGraph(g *topology.Graph) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := append([]*topology.Graph{g}, h.graphs[g.Fabric()]...)
	h.graphs[g.Fabric()] = list[:min(len(list), keepGraphs)]
	return nil
}

func (h *Hub) graph(fabric string, version uint64) *topology.Graph {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.graphs[fabric] {
		if g.Version() == version {
			return g
		}
	}
	return nil
}
