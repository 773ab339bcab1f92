package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/feedback/reconcile"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/incluster"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/tlsfile"
)

// Nodes changes labels and taints through the API server; it implements reconcile.Scheduler.
type Nodes struct {
	cfg    NodesConfig
	base   string
	client *http.Client
}

// NewNodes returns Nodes for a valid configuration. Without a URL it uses the API
// server of the cluster that this process runs in.
func NewNodes(cfg NodesConfig, log *slog.Logger) (*Nodes, error) {
	n := &Nodes{cfg: cfg, base: strings.TrimSuffix(cfg.URL.Reveal(), "/")}
	files := tlsfile.Files{CA: cfg.CA}
	if n.base == "" {
		var err error
		if n.base, err = incluster.URL(); err != nil {
			return nil, fmt.Errorf("feedback.kubernetes.nodes.url: %w", err)
		}
		if files.CA == "" {
			files.CA = incluster.CAFile
		}
		if n.cfg.TokenFile == "" {
			n.cfg.TokenFile = incluster.TokenFile
		}
	}
	connections, err := tlsfile.NewClient(files, log)
	if err != nil {
		return nil, faults.At("feedback.kubernetes.nodes", err)
	}
	n.client = &http.Client{Timeout: cfg.Timeout, CheckRedirect: secret.NoRedirect, Transport: connections.Use(&http.Transport{MaxIdleConnsPerHost: atATime})}
	return n, nil
}

// marks are the label and taint keys that mark a node. Its JSON is stored in the reconciler's journal.
type marks struct {
	Label  string `json:"label,omitempty"`
	Taint  string `json:"taint,omitempty"`
	Effect string `json:"effect,omitempty"`
}

// Marks describes what a mark consists of.
func (n *Nodes) Marks() string { return marks{n.cfg.Label, n.cfg.Taint, n.cfg.Effect}.text() }

func (m marks) text() string {
	text, err := json.Marshal(m)
	if err != nil { // cannot fail: only strings
		panic("kubernetes: " + err.Error())
	}
	return string(text)
}

// Marking returns Nodes that use the keys of an earlier configuration, as returned by Marks.
func (n *Nodes) Marking(earlier string) (*Nodes, error) {
	var m marks
	if err := json.Unmarshal([]byte(earlier), &m); err != nil {
		return nil, fmt.Errorf("kubernetes: marks %q: %w", earlier, err)
	}
	other := *n
	other.cfg.Label, other.cfg.Taint, other.cfg.Effect = m.Label, m.Taint, m.Effect
	return &other, nil
}

// nodeState is the part of a node that is changed. Its JSON is the reconciler's State, which is also in the audit log. It
// names the keys, so that a mark can be removed after a change of configuration; states of earlier versions do not.
type nodeState struct {
	LabelKey string  `json:"label_key,omitempty"`
	Label    *string `json:"label,omitempty"` // value; nil: the node has no such label
	TaintKey string  `json:"taint_key,omitempty"`
	Effect   *string `json:"effect,omitempty"` // of the taint; nil: none
}

// MarksOf returns what Marks was when a node got this state; empty if the state does not name the keys.
func MarksOf(marked reconcile.State) string {
	var s nodeState
	if json.Unmarshal([]byte(marked), &s) != nil || s.LabelKey == "" && s.TaintKey == "" {
		return ""
	}
	m := marks{Label: s.LabelKey, Taint: s.TaintKey}
	if s.Effect != nil {
		m.Effect = *s.Effect
	}
	return m.text()
}

func (s nodeState) state() reconcile.State {
	text, err := json.Marshal(s)
	if err != nil { // cannot fail: only strings
		panic("kubernetes: " + err.Error())
	}
	return reconcile.State(text)
}

// Value of the label and the taint.
const markValue = "true"

var errMarked = errors.New("another client has set this label to a different value")

// Avoid returns the state of a node once it is marked.
func (n *Nodes) Avoid(now reconcile.State) (reconcile.State, error) {
	var s nodeState
	if err := json.Unmarshal([]byte(now), &s); err != nil {
		return "", fmt.Errorf("state of a node: %w", err)
	}
	if s.Label != nil && *s.Label != markValue {
		return "", errMarked
	}
	value := markValue
	if n.cfg.Label != "" {
		s.Label = &value
	}
	if n.cfg.Taint != "" {
		s.Effect = &n.cfg.Effect
	}
	return s.state(), nil
}

// Undo reverts the parts of a mark that nothing else has changed since.
func (n *Nodes) Undo(now, before, marked reconcile.State) (reconcile.State, reconcile.Standing) {
	var is, was, made nodeState
	if errors.Join(json.Unmarshal([]byte(now), &is), json.Unmarshal([]byte(before), &was), json.Unmarshal([]byte(marked), &made)) != nil {
		return now, reconcile.Gone
	}
	then, found := is, reconcile.Gone
	if same(is.Label, made.Label) && !same(made.Label, was.Label) {
		then.Label, found = was.Label, reconcile.Stands
	}
	if same(is.Effect, made.Effect) && !same(made.Effect, was.Effect) {
		then.Effect, found = was.Effect, reconcile.Stands
	}
	return then.state(), found
}

func same(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// nodeName matches a DNS subdomain, as a node name must be.
var nodeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

// ValidName checks that Kubernetes can have a node of this name.
func (n *Nodes) ValidName(name string) error {
	if !nodeName.MatchString(name) {
		return fmt.Errorf("%q is not a node name: want lower-case letters, digits, . and -", name)
	}
	return nil
}

// apiNode is the part of a v1.Node that this package reads.
type apiNode struct {
	Metadata struct {
		Name            string            `json:"name"`
		ResourceVersion string            `json:"resourceVersion"`
		Labels          map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		Taints []json.RawMessage `json:"taints"`
	} `json:"spec"`
}

// taint is a v1.Taint without timeAdded.
type taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// atATime is how many requests about nodes are under way: hundreds of nodes are restored while the process stops.
const atATime = 8

// Look requests the nodes, until one request fails.
func (n *Nodes) Look(ctx context.Context, names []string) (map[string]reconcile.State, error) {
	var mu sync.Mutex // guards states
	states := make(map[string]reconcile.State, len(names))
	requests, ctx := errgroup.WithContext(ctx)
	requests.SetLimit(atATime)
	for _, name := range names {
		if n.ValidName(name) != nil {
			continue
		}
		requests.Go(func() error {
			got, err := n.get(ctx, name)
			if errors.Is(err, errNoNode) {
				return nil
			}
			if err != nil {
				return err
			}
			s, _, err := n.read(got)
			if err != nil {
				return fmt.Errorf("node %s: %w", name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			states[name] = s.state()
			return nil
		})
	}
	if err := requests.Wait(); err != nil {
		return nil, err
	}
	return states, nil
}

// read returns the label and the taint of a node, and its other taints unchanged.
func (n *Nodes) read(got *apiNode) (s nodeState, others []json.RawMessage, err error) {
	s.LabelKey, s.TaintKey = n.cfg.Label, n.cfg.Taint
	if value, ok := got.Metadata.Labels[n.cfg.Label]; ok && n.cfg.Label != "" {
		s.Label = &value
	}
	others = []json.RawMessage{}
	for _, raw := range got.Spec.Taints {
		var t taint
		if err := json.Unmarshal(raw, &t); err != nil {
			return s, nil, err
		}
		if n.cfg.Taint != "" && t.Key == n.cfg.Taint && t.Effect == n.cfg.Effect { // key and effect identify a taint
			s.Effect = &t.Effect
			continue
		}
		others = append(others, raw)
	}
	return s, others, nil
}

// mostSilent is after how many requests in a row that got no answer in time, or one of an overloaded server, the rest is left
// for the next attempt: each would take as long, while reliefs wait.
const mostSilent = atATime

var errGaveUp = errors.New("not tried, since the API server does not answer in time")

// Set changes the nodes. It continues after a failure, unless the server does not answer.
func (n *Nodes) Set(ctx context.Context, to map[string]reconcile.State) error {
	names := slices.Sorted(maps.Keys(to))
	errs := make([]error, len(names))
	var silent atomic.Int32
	var changes errgroup.Group
	changes.SetLimit(atATime)
	for i, name := range names {
		changes.Go(func() error {
			var s nodeState
			errs[i] = json.Unmarshal([]byte(to[name]), &s)
			if errs[i] == nil {
				errs[i] = n.ValidName(name)
			}
			switch {
			case errs[i] != nil:
			case silent.Load() >= mostSilent:
				errs[i] = fmt.Errorf("node %s: %w", name, errGaveUp)
			default:
				errs[i] = n.set(ctx, name, s)
				if errors.Is(errs[i], context.DeadlineExceeded) || errors.Is(errs[i], reconcile.ErrOverloaded) {
					silent.Add(1)
				} else {
					silent.Store(0)
				}
			}
			return nil
		})
	}
	_ = changes.Wait() // the functions return no errors
	return errors.Join(errs...)
}

// tries bounds the attempts to change a node that is modified concurrently.
const tries = 5

// set changes a node with optimistic locking: on a conflict (409) it reads the node
// again and retries. Taints are a single list, so those of others must be sent back.
func (n *Nodes) set(ctx context.Context, name string, to nodeState) (err error) {
	for range tries {
		got, err := n.get(ctx, name)
		if err != nil {
			return err
		}
		_, taints, err := n.read(got)
		if err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
		metadata := map[string]any{"resourceVersion": got.Metadata.ResourceVersion}
		patch := map[string]any{"metadata": metadata}
		if n.cfg.Label != "" {
			metadata["labels"] = map[string]*string{n.cfg.Label: to.Label} // null removes the label
		}
		if n.cfg.Taint != "" {
			if to.Effect != nil {
				own, err := json.Marshal(taint{n.cfg.Taint, markValue, *to.Effect})
				if err != nil {
					return fmt.Errorf("node %s: %w", name, err)
				}
				taints = append(taints, own)
			}
			patch["spec"] = map[string]any{"taints": taints}
		}
		if err = n.call(ctx, http.MethodPatch, name, patch, nil); !errors.Is(err, errConflict) {
			return err
		}
	}
	return fmt.Errorf("node %s: changed by another client %d times in a row", name, tries)
}
