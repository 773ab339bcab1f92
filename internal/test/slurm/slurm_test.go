//go:build integration

package slurm_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/test/slurm"
)

// A cluster runs a job on the requested nodes, and its controller can be restarted.
func TestCluster(t *testing.T) {
	c := slurm.Start(t, slurm.Config{Nodes: []string{"left", "right"}})
	id := c.Submit("sleep 300", "--nodes=2", "--job-name=held")
	c.Await("the job to run on both nodes", func() bool {
		return strings.TrimSpace(c.Output("squeue", "--noheader", "--states=R", "--format=%i %N")) == id+" left,right"
	})
	c.StopController()
	if out, err := c.Run("scontrol", "--local", "ping"); err == nil && strings.Contains(out, "UP") {
		t.Errorf("a stopped controller answers: %s", out)
	}
	if err := c.StartController(); err != nil {
		t.Fatal(err)
	}
	if out := c.Output("squeue", "--noheader", "--format=%i"); strings.TrimSpace(out) != id {
		t.Errorf("after a restart the controller lists %q, want %s", out, id)
	}
}

// With accounting sacct works, and slurmrestd accepts a token.
func TestAccountingAndREST(t *testing.T) {
	c := slurm.Start(t, slurm.Config{Nodes: []string{"n1"}, Accounting: true, REST: true})
	id := c.Submit("exit 3")
	c.Await("sacct to list the end", func() bool {
		return strings.Contains(c.Output("sacct", "--parsable2", "--noheader", "--allocations", "--format=JobID,State"), id+"|FAILED")
	})
	ask, err := http.NewRequest(http.MethodGet, c.RESTAddress()+"/slurm/v0.0.38/jobs", nil)
	if err != nil {
		t.Fatal(err)
	}
	ask.Header.Set("X-SLURM-USER-NAME", c.User())
	ask.Header.Set("X-SLURM-USER-TOKEN", c.Token())
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(body), `"job_id": `+id) {
		t.Errorf("slurmrestd: %s, %v: %.500s", answer.Status, err, body)
	}
}
