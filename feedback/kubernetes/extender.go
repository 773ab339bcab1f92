package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/feedback/policy"
	"github.com/giverny/giverny/feedback/reconcile"
	"github.com/giverny/giverny/feedback/record"
)

// Reasons for which the extender does not do what was asked or what scores say.
const (
	Stale      = "stale"       // the scores are too old, or not known
	NotAllowed = "not_allowed" // the allow list does not have a congested node
	LastNodes  = "last_nodes"  // no node would be left
	Malformed  = "malformed"   // the request is none of a scheduler's
)

// ExtenderReasons lists them.
func ExtenderReasons() []string { return []string{Stale, NotAllowed, LastNodes, Malformed} }

// maxPriority is the best priority of an extender (MaxExtenderPriority of
// k8s.io/kube-scheduler/extender/v1).
const maxPriority = 10

// maxRequest bounds a request, where http.access.limits.body_bytes has been raised: 5000 whole nodes are some 60 MB.
const maxRequest = 256 << 20

// Extender answers kube-scheduler. It fails open: whatever is wrong with the scores,
// every node passes.
type Extender struct {
	cfg    ExtenderConfig
	record *record.Recorder
	log    *slog.Logger

	mu     sync.Mutex // guards fabrics
	fabric map[string]fabricScores
}

// fabricScores are the newest of a fabric.
type fabricScores struct {
	nodes   map[string]policy.Score
	unknown bool
	taken   time.Time
}

// NewExtender makes the extender of a valid configuration.
func NewExtender(cfg ExtenderConfig, rec *record.Recorder, log *slog.Logger) *Extender {
	return &Extender{cfg: cfg, record: rec, log: log.With("sink", rec.Sink()), fabric: map[string]fabricScores{}}
}

// Take takes the scores of a fabric.
func (e *Extender) Take(s reconcile.Scores) {
	nodes := make(map[string]policy.Score, len(s.Nodes))
	for _, n := range s.Nodes {
		if had, ok := nodes[n.Node]; !ok || n.Score > had.Score {
			nodes[n.Node] = n
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fabric[s.Fabric] = fabricScores{nodes, s.Unknown, time.Now()}
}

// Forget drops the scores of a fabric that others look after now.
func (e *Extender) Forget(fabric string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.fabric, fabric)
}

// Register adds the extender's two verbs to mux.
func (e *Extender) Register(mux *http.ServeMux) {
	mux.HandleFunc("POST /feedback/kubernetes/filter", e.serve(func(a *extenderArgs) any { return e.filter(a) }))
	mux.HandleFunc("POST /feedback/kubernetes/prioritize", e.serve(func(a *extenderArgs) any { return e.prioritize(a) }))
}

// The forms of k8s.io/kube-scheduler/extender/v1, whose fields have no names of their
// own in JSON. Nodes are passed on as they came: this program needs their names alone.

// extenderArgs has either Nodes or, where the scheduler is configured so that the extender
// knows the nodes (nodeCacheCapable), NodeNames.
type extenderArgs struct {
	Pod       json.RawMessage
	Nodes     *nodeList
	NodeNames *[]string
}

// nodeList is a v1.NodeList; all fields other than its items are returned unchanged.
type nodeList struct {
	Items  []json.RawMessage
	others map[string]json.RawMessage
	names  []string
}

// UnmarshalJSON reads a list of nodes.
func (l *nodeList) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &l.others); err != nil {
		return err
	}
	if err := json.Unmarshal(orNull(l.others["items"]), &l.Items); err != nil {
		return err
	}
	delete(l.others, "items")
	l.names = make([]string, len(l.Items))
	for i, item := range l.Items {
		var node struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal(item, &node); err != nil {
			return err
		}
		l.names[i] = node.Metadata.Name
	}
	return nil
}

// MarshalJSON gives the list back.
func (l *nodeList) MarshalJSON() ([]byte, error) {
	items, err := json.Marshal(append([]json.RawMessage{}, l.Items...))
	if err != nil {
		return nil, err
	}
	all := map[string]json.RawMessage{"items": items}
	for key, value := range l.others {
		all[key] = value
	}
	return json.Marshal(all)
}

func orNull(text json.RawMessage) json.RawMessage {
	if text == nil {
		return json.RawMessage("null")
	}
	return text
}

// filterResult is the answer to filter. FailedAndUnresolvableNodes stays empty: a
// preemption does not help, but congestion passes.
type filterResult struct {
	Nodes                      *nodeList
	NodeNames                  *[]string
	FailedNodes                map[string]string
	FailedAndUnresolvableNodes map[string]string
	Error                      string
}

// hostPriority is one entry of the answer to prioritize.
type hostPriority struct {
	Host  string
	Score int64 // 0 to maxPriority
}

func (e *Extender) serve(answer func(*extenderArgs) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var args extenderArgs
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		if err == nil {
			err = json.Unmarshal(text, &args)
		}
		if err == nil && args.Nodes == nil && args.NodeNames == nil {
			err = fmt.Errorf("it has neither Nodes nor NodeNames")
		}
		if err != nil {
			e.record.Dropped(Malformed, 1)
			status := http.StatusBadRequest
			err = fmt.Errorf("want ExtenderArgs of kube-scheduler's extender/v1: %w", err)
			if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
				status = http.StatusRequestEntityTooLarge
				err = fmt.Errorf("more than %d bytes: set nodeCacheCapable: true in the scheduler's configuration, so that it sends the names of nodes alone, or raise http.access.limits.body_bytes", tooLarge.Limit)
			}
			e.log.Warn("kubernetes: request of the scheduler not understood", "path", r.URL.Path, "error", err)
			http.Error(w, err.Error(), status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(answer(&args)) // an error here means that the scheduler left
		e.record.Worked()
	}
}

// names lists the candidates.
func (a *extenderArgs) names() []string {
	if a.NodeNames != nil {
		return *a.NodeNames
	}
	return a.Nodes.names
}

// known are the scores of the fabrics that have some now.
type known []map[string]policy.Score

// scores are those of all fabrics; nil where none is known.
func (e *Extender) scores() (all known) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.fabric {
		if !f.unknown && time.Since(f.taken) <= e.cfg.MaxAge {
			all = append(all, f.nodes) // which does not change any more
		}
	}
	if all == nil {
		e.record.Dropped(Stale, 1)
	}
	return all
}

// of is the score of a node: of several fabrics the highest.
func (k known) of(name string) (highest policy.Score) {
	for _, nodes := range k {
		if s := nodes[name]; s.Score > highest.Score {
			highest = s
		}
	}
	return highest
}

// filter says which nodes pass.
func (e *Extender) filter(args *extenderArgs) *filterResult {
	scores, failed := e.scores(), map[string]string{}
	for _, name := range args.names() {
		s := scores.of(name)
		if e.cfg.FilterAt == 0 || s.Score < e.cfg.FilterAt {
			continue
		}
		if !safety.Matches(e.cfg.Allow, name) {
			e.record.Dropped(NotAllowed, 1)
			continue
		}
		failed[name] = fmt.Sprintf("congestion score %.0f: %s", s.Score, s.Reason)
	}
	if len(failed) > 0 && len(failed) == len(args.names()) {
		e.record.Dropped(LastNodes, 1)
		failed = map[string]string{}
	}
	if len(failed) > 0 {
		e.log.Info("kubernetes: nodes filtered", "nodes", len(args.names()), "failed", len(failed), "dry_run", e.cfg.DryRun)
	}
	if e.cfg.DryRun {
		failed = map[string]string{}
	}
	return args.without(failed)
}

// without is the answer that all but the failed nodes pass, in the form of the question.
func (a *extenderArgs) without(failed map[string]string) *filterResult {
	result := &filterResult{FailedNodes: failed, FailedAndUnresolvableNodes: map[string]string{}}
	if a.NodeNames != nil {
		names := []string{}
		for _, name := range *a.NodeNames {
			if _, no := failed[name]; !no {
				names = append(names, name)
			}
		}
		result.NodeNames = &names
	}
	if a.Nodes != nil {
		list := &nodeList{others: a.Nodes.others}
		for i, name := range a.Nodes.names {
			if _, no := failed[name]; !no {
				list.Items = append(list.Items, a.Nodes.Items[i])
			}
		}
		result.Nodes = list
	}
	return result
}

// prioritize gives every candidate a priority: the best where no congestion is near.
func (e *Extender) prioritize(args *extenderArgs) []hostPriority {
	scores, list := e.scores(), []hostPriority{}
	for _, name := range args.names() {
		priority := int64(0)
		if scores != nil && !e.cfg.DryRun {
			priority = maxPriority
			if s := scores.of(name); s.Score > 0 && safety.Matches(e.cfg.Allow, name) {
				priority = int64(math.Round(maxPriority * (1 - s.Score/100)))
			}
		}
		list = append(list, hostPriority{name, priority})
	}
	return list
}
