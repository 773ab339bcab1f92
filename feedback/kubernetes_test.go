//go:build integration

package feedback_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/test/kubernetes"
	"github.com/giverny/giverny/schema"
)

// The nodes of these tests: hosts of a fat tree (k=4), the first two of them on leaf pod 0 edge 0.
var kubernetesNodes = []string{"host0", "host1", "host2", "host3"}

// documented returns the YAML block of the page about schedulers that contains a text.
func documented(t *testing.T, text string) string {
	t.Helper()
	page, err := os.ReadFile("../docs/how-to/feedback-to-schedulers.md")
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(page), "```yaml\n") {
		block, _, _ = strings.Cut(block, "\n```")
		if strings.Contains(block, text) {
			return block
		}
	}
	t.Fatalf("the page has no YAML with %q", text)
	return ""
}

// extenderServer serves the hub's extender, late if so set.
type extenderServer struct {
	*httptest.Server
	delay atomic.Int64 // nanoseconds
}

func serveExtender(t *testing.T, h *hub) *extenderServer {
	t.Helper()
	s := &extenderServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Duration(s.delay.Load()))
		h.mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// placements places pods, one after the other, and returns the nodes that got any.
func placements(c *kubernetes.Cluster, pods int, metadata map[string]any) string {
	got := map[string]bool{}
	for range pods {
		got[c.Place(metadata, nil)] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(got)), " ")
}

// awaitAll places pods until every node has got one: the scheduler chooses at random among equals.
func awaitAll(t *testing.T, c *kubernetes.Cluster) {
	t.Helper()
	const pods = 100 // a node of four that is as good as the others gets none of them once in 10^12
	got := map[string]bool{}
	for i := 0; len(got) < len(kubernetesNodes); i++ {
		if i == pods {
			t.Fatalf("of %d pods none is placed on other nodes than %v", pods, got)
		}
		got[c.Place(nil, nil)] = true
	}
}

// The real kube-scheduler, with the extender as documented, places pods on calm nodes while others are congested, replicas
// too, which it would rather spread; after the relief it uses all nodes.
func TestKubernetesPlacesPodsElsewhere(t *testing.T) {
	c := kubernetes.Start(t, kubernetesNodes...)
	h := startHub(t, extenderConfig(t))
	s := serveExtender(t, h)
	configuration := strings.ReplaceAll(documented(t, "extenders:"), "http://giverny:9401", s.URL)
	replicas := replicaSet(c)
	for _, form := range []string{"nodeCacheCapable: true", "nodeCacheCapable: false"} {
		c.StartScheduler(strings.ReplaceAll(configuration, "nodeCacheCapable: true", form))
		h.relieve(t)
		awaitAll(t, c)
		for severity := schema.Medium; severity <= schema.High; severity++ {
			h.congest(t, severity, "host0", "host1", "host2")
			if got := placements(c, 8, nil); got != "host3" {
				t.Errorf("%s: with the others congested (%v) pods are placed on %s, want host3", form, severity, got)
			}
			if got := placements(c, 8, replicas); got != "host3" {
				t.Errorf("%s: with the others congested (%v) replicas are placed on %s, want host3", form, severity, got)
			}
		}
		if got := c.Place(nil, map[string]any{"nodeSelector": map[string]string{"kubernetes.io/hostname": "host1"}}); got != "host1" {
			t.Errorf("%s: a pod that can only be on host1 is placed on %s", form, got)
		}
		c.DeletePods()
	}
	h.relieve(t)
	awaitAll(t, c)

	h.congest(t, schema.High, "host0", "host1", "host2")
	s.delay.Store(int64(3 * time.Second))
	began := time.Now()
	placements(c, 2, nil)
	if took := time.Since(began); took < 4*time.Second || took > 30*time.Second { // each of two pods waits for two answers, 1 s each
		t.Errorf("while the extender is slow, two pods take %v", took)
	}
	s.Close()
	awaitAll(t, c)
}

// replicaSet returns the metadata of pods of a ReplicaSet.
func replicaSet(c *kubernetes.Cluster) map[string]any {
	c.Apply(`apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web, namespace: default}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: none}]}}
`)
	owner := map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": c.UID("/apis/apps/v1/namespaces/default/replicasets/web"), "controller": true}
	return map[string]any{"labels": map[string]string{"app": "web"}, "ownerReferences": []any{owner}}
}
