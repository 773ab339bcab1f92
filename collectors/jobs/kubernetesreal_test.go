//go:build integration

package jobs_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/giverny/giverny/collectors/jobs"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/test/kubernetes"
	"github.com/giverny/giverny/schema"
)

// After a restore of etcd a watch waits for a version that is long to come; the next list has the pods.
func TestRealKubernetesWithEarlierVersions(t *testing.T) {
	c := kubernetes.Start(t, "n1")
	c.ApplyChart()
	target, err := url.Parse(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("watch") != "" {
			q.Set("resourceVersion", q.Get("resourceVersion")+"000")
			r.URL.RawQuery = q.Encode()
		}
		proxy.ServeHTTP(w, r)
	}))
	defer server.Close()
	cfg := jobs.KubernetesKind().NewConfig().(*jobs.KubernetesConfig)
	cfg.URL, cfg.TokenFile = secret.NewURL(server.URL), c.TokenFile("giverny", "giverny-feeds")
	source := open(t, cfg, t.TempDir())
	begin := time.Now()
	for _, read := range []struct {
		after time.Duration
		jobs  int
	}{{0, 0}, {time.Minute, 0}, {31 * time.Minute, 1}} {
		rows, err := source.Read(t.Context(), begin.Add(read.after))
		if err != nil || len(rows.Jobs) != read.jobs {
			t.Errorf("after %v: %d jobs, %v; want %d", read.after, len(rows.Jobs), err, read.jobs)
		}
		if read.after == 0 {
			pod := c.Create(c.ReplicaSet("web"), map[string]any{"nodeName": "n1"})
			c.SetPhase(pod, "Running")
		}
	}
}

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
