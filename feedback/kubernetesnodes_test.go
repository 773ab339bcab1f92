//go:build integration

package feedback_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/feedback"
	"github.com/giverny/giverny/feedback/record/recordtest"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/test/kubernetes"
	"github.com/giverny/giverny/schema"
)

// The service accounts of the page and of the analyser in the Helm chart.
const (
	documentedAccount = "giverny"
	chartAccount      = "giverny-analyze"
)

// nodesConfig marks nodes as a service account.
func nodesConfig(c *kubernetes.Cluster, account, dir, effect string) feedback.Config {
	cfg := feedback.DefaultConfig()
	cfg.Dir = dir
	n := &cfg.Kubernetes.Nodes
	n.Enabled, n.DryRun, n.Taint, n.Effect = true, false, "giverny.dev/congested", effect
	n.URL, n.CA, n.TokenFile = secret.NewURL(c.URL()), c.CA(), c.TokenFile("giverny", account)
	n.Policy.Allow, n.Policy.RaiseAfter, n.Policy.LowerAfter = []string{"host*"}, 0, 0
	return cfg
}

// marks describes the nodes: the value of the label, and all taints.
func marks(c *kubernetes.Cluster) string {
	var all []string
	for _, name := range kubernetesNodes {
		node := c.Node(name)
		text := cmp.Or(node.Metadata.Labels["giverny.dev/congested"], "-")
		for _, taint := range node.Spec.Taints {
			text += fmt.Sprintf("/%s=%s:%s", taint.Key, taint.Value, taint.Effect)
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func awaitMarks(c *kubernetes.Cluster, want string) {
	c.Await("marks "+want, func() bool { return marks(c) == want })
}

// startNodes starts a cluster, and a scheduler without an extender.
func startNodes(t *testing.T) *kubernetes.Cluster {
	t.Helper()
	c := kubernetes.Start(t, kubernetesNodes...)
	c.StartScheduler("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
	return c
}

// applyDocumented applies the documented account and its role. Without the binding, which it returns, the account may do nothing.
func applyDocumented(t *testing.T, c *kubernetes.Cluster) (binding string) {
	t.Helper()
	manifest := documented(t, "kind: ClusterRoleBinding\n")
	i := strings.LastIndex(manifest, "---\n")
	c.Apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: giverny}\n---\n" + manifest[:i])
	return manifest[i:]
}

const (
	mark      = "true/giverny.dev/congested=true:PreferNoSchedule"
	maintains = "/example.com/maintenance=soon:PreferNoSchedule" // a taint of another client
)

// With the documented role and no more, congested nodes get a label and a taint, which the real scheduler respects: pods, also
// replicas, which it would rather spread, are placed elsewhere. Relief and a stop remove both, and nothing else, while other
// clients change the nodes all the time.
func TestKubernetesNodesAreMarked(t *testing.T) {
	t.Parallel()
	c := startNodes(t)
	binding := applyDocumented(t, c)
	h := startHub(t, nodesConfig(c, documentedAccount, t.TempDir(), "PreferNoSchedule"))
	h.congest(t, schema.High, "host0", "host1", "host2")
	h.await(t, "the missing permission to be named", func() bool {
		return strings.Contains(h.state(), `User "system:serviceaccount:giverny:giverny" cannot get resource "nodes"`)
	})
	c.Apply(binding)
	awaitMarks(c, mark+" "+mark+" "+mark+" -")
	h.await(t, "the fault to end", func() bool { return h.state() == "" })
	for _, metadata := range []map[string]any{nil, c.ReplicaSet("web")} {
		if got := placements(c, 8, metadata); got != "host3" {
			t.Errorf("pods %v are placed on %s, want host3, the only one without a taint", metadata, got)
		}
	}
	if got := c.Place(nil, map[string]any{"nodeSelector": map[string]string{"giverny.dev/congested": "true"}}); got == "host3" {
		t.Error("a pod that selects the label is placed on host3, which has none")
	}
	h.relieve(t)
	awaitMarks(c, "- - - -")
	awaitAll(t, c)

	stop, end := context.WithCancel(t.Context())
	var others errgroup.Group
	others.Go(func() error { return c.KeepPatching(stop, "host0", "host1") })
	h.congest(t, schema.High, "host0", "host1")
	awaitMarks(c, mark+" "+mark+" - -")
	c.PatchNode("host0", map[string]any{"spec": map[string]any{"taints": []any{
		map[string]string{"key": "giverny.dev/congested", "value": "true", "effect": "PreferNoSchedule"},
		map[string]string{"key": "example.com/maintenance", "value": "soon", "effect": "PreferNoSchedule"}}}})
	h.stop(t)
	end()
	if err := others.Wait(); err != nil {
		t.Error(err)
	}
	if got := marks(c); got != "-"+maintains+" - - -" {
		t.Errorf("after the stop the nodes have %s", got)
	}
	for _, manager := range c.Node("host1").Metadata.ManagedFields {
		if manager.Manager == "giverny" {
			t.Errorf("after the stop giverny manages fields of host1: %+v", manager)
		}
	}
	h.wantAudit(t, "mark host2 done", "relieve host2 done")
}

// A pod that can only be on a node with the taint NoSchedule waits until the relief. After kill -9 the next start removes the
// marks, and without its journal feedback lift does, from the audit. The account is that of the Helm chart, which the API server
// accepts as a whole.
func TestKubernetesNodesAreRestoredAfterKill9(t *testing.T) {
	t.Parallel()
	c := startNodes(t)
	c.ApplyChart()
	cfg := nodesConfig(c, chartAccount, t.TempDir(), "NoSchedule")
	marked := strings.ReplaceAll(mark, "Prefer", "")
	killAfterMarks(t, cfg)
	if got := marks(c); got != marked+" "+marked+" - -" {
		t.Fatalf("after the kill the nodes have %s", got)
	}
	pod := c.Create(nil, map[string]any{"nodeSelector": map[string]string{"kubernetes.io/hostname": "host0"}})
	if why := c.AwaitRefused(pod); !strings.Contains(why, "node(s) had untolerated taint(s)") {
		t.Errorf("the scheduler says %q of a pod that can only be on a node with the taint", why)
	}
	cfg.Kubernetes.Nodes.Taint, cfg.Kubernetes.Nodes.Enabled = "example.com/other", false // the journal says what to remove
	h := startHub(t, cfg)
	awaitMarks(c, "- - - -")
	if got := c.Placed(pod); got != "host0" {
		t.Errorf("after the start the pod is placed on %s, want host0", got)
	}
	h.stop(t)

	cfg = nodesConfig(c, chartAccount, t.TempDir(), "NoSchedule")
	rows, trail := killAfterMarks(t, cfg), &recordtest.Audit{}
	cfg.Dir = t.TempDir()
	acts, err := feedback.Lift(t.Context(), &cfg, rows, "by hand", trail, slog.New(slog.DiscardHandler))
	if got := marks(c); err != nil || len(acts) != 2 || got != "- - - -" {
		t.Errorf("lifted %+v, %v; the nodes have %s", acts, err, got)
	}

	h = startHub(t, nodesConfig(c, chartAccount, t.TempDir(), "NoSchedule"))
	h.congest(t, schema.High, "host0", "host1")
	awaitMarks(c, marked+" "+marked+" - -")
	c.DeleteNode("host1")
	h.relieve(t)
	h.wantAudit(t, "relieve host0 done", "release host1 done")
	h.await(t, "no fault", func() bool { return h.state() == "" })
}
