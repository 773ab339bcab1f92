//go:build integration

package slurm_test

import (
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/test/slurm"
)

// A cluster runs a job on the nodes that it was given, and its controller comes back.
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
