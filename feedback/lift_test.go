package feedback_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"testing"

	"github.com/giverny/giverny/feedback"
	"github.com/giverny/giverny/feedback/kubernetes"
	"github.com/giverny/giverny/feedback/reconcile"
	"github.com/giverny/giverny/feedback/record/recordtest"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/schema"
)

// labelled is an API server with nodes that have labels.
type labelled map[string]map[string]string

func (l labelled) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	labels := l[path.Base(r.URL.Path)]
	if r.Method == http.MethodPatch {
		var patch struct {
			Metadata struct{ Labels map[string]*string }
		}
		_ = json.NewDecoder(r.Body).Decode(&patch)
		for key, value := range patch.Metadata.Labels {
			if delete(labels, key); value != nil {
				labels[key] = *value
			}
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"metadata": map[string]any{"name": path.Base(r.URL.Path), "resourceVersion": "1", "labels": labels}})
}

// A mark is removed by the keys that it was made with, whatever keys have been configured since.
func TestMarksAreLiftedByTheirOwnKeys(t *testing.T) {
	nodes := labelled{"n1": {"zone": "a"}, "n2": {}}
	server := httptest.NewServer(nodes)
	defer server.Close()
	cfg := feedback.DefaultConfig()
	cfg.Kubernetes.Nodes.URL = secret.NewURL(server.URL)
	var marks []schema.FeedbackAction
	for node, label := range map[string]string{"n1": "old.example/congested", "n2": "new.example/congested"} {
		cfg.Kubernetes.Nodes.Label = label
		made, err := kubernetes.NewNodes(cfg.Kubernetes.Nodes, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		before, err := made.Look(t.Context(), []string{node})
		if err != nil {
			t.Fatal(err)
		}
		after, err := made.Avoid(before[node])
		if err != nil {
			t.Fatal(err)
		}
		if err := made.Set(t.Context(), map[string]reconcile.State{node: after}); err != nil {
			t.Fatal(err)
		}
		marks = append(marks, schema.FeedbackAction{Sink: "kubernetes-nodes", Fabric: "ib0", Target: node, Before: string(before[node]), After: string(after)})
	}
	if nodes["n1"]["old.example/congested"] != "true" || nodes["n2"]["new.example/congested"] != "true" {
		t.Fatalf("not marked: %v", nodes)
	}
	cfg.Kubernetes.Nodes.Label = "new.example/congested"
	trail := &recordtest.Audit{}
	acts, err := feedback.Lift(t.Context(), &cfg, marks, "its host is lost", trail, slog.New(slog.DiscardHandler))
	if err != nil || len(acts) != 2 || len(trail.Rows()) != 2 {
		t.Fatalf("%v: %+v", err, acts)
	}
	if len(nodes["n1"]) != 1 || nodes["n1"]["zone"] != "a" || len(nodes["n2"]) != 0 {
		t.Errorf("left behind: %v", nodes)
	}
	for _, a := range acts {
		if a.Action != reconcile.ActionRelieve || a.Outcome != schema.FeedbackDone {
			t.Errorf("%+v", a)
		}
	}
}
