package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/feedback/policy"
	"github.com/giverny/giverny/feedback/reconcile"
	"github.com/giverny/giverny/feedback/record"
	"github.com/giverny/giverny/internal/hostname"
)

// Reasons why the extender ignores a request or the scores.
const (
	Stale      = "stale"       // the scores are too old or unknown
	NotAllowed = "not_allowed" // a congested node is not on the allow list
	LastNodes  = "last_nodes"  // no node would remain
	Malformed  = "malformed"   // not a valid scheduler request
)

// ExtenderReasons lists the reasons, for metrics.
func ExtenderReasons() []string { return []string{Stale, NotAllowed, LastNodes, Malformed} }

// maxPriority is the highest priority an extender may return (MaxExtenderPriority of
// k8s.io/kube-scheduler/extender/v1).
const maxPriority = 10

// maxRequest bounds a request body if http.access.limits.body_bytes has been raised: 5000 full Node objects are about 60 MB.
const maxRequest = 256 << 20

// Extender answers kube-scheduler. It fails open: if the scores are missing, stale or
// unknown, every node passes.
type Extender struct {
	cfg    ExtenderConfig
	record *record.Recorder
	log    *slog.Logger

	mu     sync.Mutex // guards fabric
	fabric map[string]fabricScores
}

// fabricScores are the newest scores of a fabric.
type fabricScores struct {
	nodes   nodeScores
	unknown bool
	taken   time.Time
}

// nodeScores are scores by node, and by its plain name where that is of one node: Kubernetes has names in lower case, and some
// clusters those with domains, where a fabric may have neither.
type nodeScores struct{ byName, byPlain map[string]policy.Score }

// of returns the score of a node. Two names with domains are the same node only if the domains are.
func (n nodeScores) of(name string) policy.Score {
	if s, known := n.byName[name]; known {
		return s
	}
	short, qualified := hostname.Unqualified(name)
	s := n.byPlain[short]
	if _, also := hostname.Unqualified(s.Node); qualified && also && !strings.EqualFold(name, s.Node) {
		return policy.Score{}
	}
	return s
}

// NewExtender returns an extender for a valid configuration.
func NewExtender(cfg ExtenderConfig, rec *record.Recorder, log *slog.Logger) *Extender {
	return &Extender{cfg: cfg, record: rec, log: log.With("sink", rec.Sink()), fabric: map[string]fabricScores{}}
}

// Take stores the scores of a fabric.
func (e *Extender) Take(s reconcile.Scores) {
	nodes := nodeScores{make(map[string]policy.Score, len(s.Nodes)), make(map[string]policy.Score, len(s.Nodes))}
	for _, n := range s.Nodes {
		nodes.byName[n.Node] = n
		short, _ := hostname.Unqualified(n.Node)
		if _, several := nodes.byPlain[short]; several {
			n = policy.Score{}
		}
		nodes.byPlain[short] = n
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fabric[s.Fabric] = fabricScores{nodes, s.Unknown, time.Now()}
}

// Forget drops the scores of a fabric that another process now owns.
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

// The types of k8s.io/kube-scheduler/extender/v1, whose fields have no JSON names.
// Nodes are passed through as received; only their names are read.

// extenderArgs has either Nodes or, if the scheduler is configured with nodeCacheCapable,
// NodeNames.
type extenderArgs struct {
	Pod       json.RawMessage
	Nodes     *nodeList
	NodeNames *[]string
}

// nodeList is a v1.NodeList; fields other than items are returned unchanged.
type nodeList struct {
	Items  []json.RawMessage
	others map[string]json.RawMessage
	names  []string
}

// UnmarshalJSON decodes the items and keeps all other fields as raw JSON.
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

// MarshalJSON encodes the list with the fields it was decoded with.
func (l *nodeList) MarshalJSON() ([]byte, error) {
	items, err := json.Marshal(append([]json.RawMessage{}, l.Items...))
	if err != nil {
		return nil, err
	}
	all := map[string]json.RawMessage{"items": items}
	maps.Copy(all, l.others)
	return json.Marshal(all)
}

func orNull(text json.RawMessage) json.RawMessage {
	if text == nil {
		return json.RawMessage("null")
	}
	return text
}

// filterResult is the response to filter. FailedAndUnresolvableNodes stays empty: those
// nodes would be ruled out even with preemption, but congestion is temporary.
type filterResult struct {
	Nodes                      *nodeList
	NodeNames                  *[]string
	FailedNodes                map[string]string
	FailedAndUnresolvableNodes map[string]string
	Error                      string
}

// hostPriority is an entry of the response to prioritize.
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
			err = fmt.Errorf("neither Nodes nor NodeNames in the request")
		}
		if err != nil {
			e.record.Dropped(Malformed, 1)
			status := http.StatusBadRequest
			err = fmt.Errorf("want ExtenderArgs of kube-scheduler's extender/v1: %w", err)
			if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
				status = http.StatusRequestEntityTooLarge
				err = fmt.Errorf("more than %d bytes: set nodeCacheCapable: true in the scheduler's configuration, so that it sends only node names, or raise http.access.limits.body_bytes", tooLarge.Limit)
			}
			e.log.Warn("kubernetes: malformed request from the scheduler", "path", r.URL.Path, "error", err)
			http.Error(w, err.Error(), status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(answer(&args)) // an error here means that the scheduler disconnected
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

// known holds the scores of all fabrics with current scores.
type known []nodeScores

// scores returns the current scores of all fabrics; nil if there are none.
func (e *Extender) scores() (all known) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.fabric {
		if !f.unknown && time.Since(f.taken) <= e.cfg.MaxAge {
			all = append(all, f.nodes) // never modified after Take
		}
	}
	if all == nil {
		e.record.Dropped(Stale, 1)
	}
	return all
}

// of returns the score of a node: the highest, if it is on several fabrics.
func (k known) of(name string) (highest policy.Score) {
	for _, nodes := range k {
		if s := nodes.of(name); s.Score > highest.Score {
			highest = s
		}
	}
	return highest
}

// filter decides which nodes pass.
func (e *Extender) filter(args *extenderArgs) *filterResult {
	scores, failed, pass := e.scores(), map[string]string{}, 0
	for _, name := range args.names() {
		s := scores.of(name)
		if e.cfg.FilterAt == 0 || s.Score < e.cfg.FilterAt {
			pass++
			continue
		}
		if !safety.Matches(e.cfg.Allow, name) {
			e.record.Dropped(NotAllowed, 1)
			pass++
			continue
		}
		failed[name] = fmt.Sprintf("congestion score %.0f: %s", s.Score, s.Reason)
	}
	if len(failed) > 0 && pass == 0 {
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

// without is the response in which all but the failed nodes pass, in the same form as the request.
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

// prioritize gives every candidate a priority, the highest to nodes without congestion.
func (e *Extender) prioritize(args *extenderArgs) []hostPriority {
	scores, list := e.scores(), []hostPriority{}
	for _, name := range args.names() {
		priority := int64(0)
		if scores != nil && !e.cfg.DryRun {
			priority = maxPriority
			if s := scores.of(name); safety.Matches(e.cfg.Allow, name) {
				priority = int64(math.Round(maxPriority * (1 - s.Score/100)))
			}
		}
		list = append(list, hostPriority{name, priority})
	}
	return list
}
