//go:build integration

package jobs_test

import (
	"testing"
	"time"

	"github.com/giverny/giverny/collectors/jobs"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/test/kubernetes"
	"github.com/giverny/giverny/schema"
)

// A real API server and scheduler, as the account of the Helm chart, which may only list and watch pods: the pods of a ReplicaSet are a job on
// the nodes where they were placed; it ends when they have ended.
func TestRealKubernetes(t *testing.T) {
	c := kubernetes.Start(t, "n1", "n2")
	c.ApplyChart()
	c.StartScheduler("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
	cfg := jobs.KubernetesKind().NewConfig().(*jobs.KubernetesConfig)
	cfg.URL, cfg.CA, cfg.TokenFile = secret.NewURL(c.URL()), c.CA(), c.TokenFile("giverny", "giverny-feeds")
	source := open(t, cfg, t.TempDir())
	awaitJob := func(what string, wanted func(j *schema.Job) bool) {
		t.Helper()
		c.Await(what, func() bool {
			rows, err := source.Read(t.Context(), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if err := source.Commit(); err != nil {
				t.Fatal(err)
			}
			for _, j := range rows.Jobs {
				if wanted(&j) {
					return true
				}
			}
			return false
		})
	}
	metadata := c.ReplicaSet("web")
	pods := []string{c.Create(metadata, nil), c.Create(metadata, nil)}
	for _, pod := range pods {
		c.Placed(pod)
		c.SetPhase(pod, "Running")
	}
	awaitJob("the job to run", func(j *schema.Job) bool { return j.ID == "default/web" && len(j.Nodes) == 2 && j.End == 0 })
	for _, pod := range pods {
		c.SetPhase(pod, "Succeeded")
	}
	awaitJob("the job to end", func(j *schema.Job) bool {
		return j.ID == "default/web" && len(j.Nodes) == 2 && j.End != 0 && j.State == "Succeeded"
	})
}
