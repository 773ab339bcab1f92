//go:build integration

package feedback_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/feedback/reconcile"
	"github.com/giverny/giverny/internal/test/slurm"
	"github.com/giverny/giverny/schema"
)

// Two processes with different weights on one Slurm: whichever of the two marks ends first, the node ends with the weight
// that it had before both.
func TestTwoWeightsOnOneSlurm(t *testing.T) {
	c := slurm.Start(t, slurm.Config{Nodes: slurmNodes})
	for _, o := range []struct {
		name       string
		first, end int    // of the two, which is relieved first, and which then
		between    string // weights
	}{
		{"the mark below is relieved first", 0, 1, "800 1 1 1"},
		{"the mark below is relieved last", 1, 0, "500 1 1 1"},
	} {
		t.Run(o.name, func(t *testing.T) {
			var hubs [2]*hub
			for i, weight := range []uint32{500, 800} {
				cfg := slurmConfig(c, t.TempDir())
				cfg.Slurm.Weight = weight
				hubs[i] = startHub(t, cfg)
			}
			hubs[0].congest(t, schema.High, "host0")
			awaitWeights(t, c, "500 1 1 1")
			hubs[1].congest(t, schema.High, "host0")
			awaitWeights(t, c, "800 1 1 1")
			hubs[o.first].relieve(t)
			time.Sleep(3 * time.Second)
			awaitWeights(t, c, o.between)
			hubs[o.end].relieve(t)
			awaitWeights(t, c, "1 1 1 1")
			for _, h := range hubs {
				h.stop(t)
			}
			if got := weights(t, c); got != "1 1 1 1" {
				t.Errorf("after both have stopped the nodes weigh %s", got)
			}
		})
	}
}

// The controller goes away while a relief is under way: marks that it keeps, and marks that it forgets, are gone when it is back,
// and so is the state.
func TestSlurmRestartsDuringARelief(t *testing.T) {
	c := slurm.Start(t, slurm.Config{Nodes: slurmNodes})
	cfg := slurmConfig(c, t.TempDir())
	cfg.Slurm.Feature = "congested"
	h := startHub(t, cfg)
	h.congest(t, schema.High, "host0", "host1")
	awaitWeights(t, c, "500 500 1 1")
	c.StopController()
	h.relieve(t)
	h.await(t, "the fault to show", func() bool { return h.state() != "" })
	if err := c.StartController(); err != nil {
		t.Fatal(err)
	}
	h.await(t, "the fault to go", func() bool { return h.state() == "" })
	awaitWeights(t, c, "1 1 1 1")
	if left := c.Output("sinfo", "--noheader", "--format=%f%b"); strings.Contains(left, "congested") {
		t.Errorf("features left behind: %s", left)
	}
	if left, err := reconcile.LeftBehind(filepath.Join(cfg.Dir, "slurm")); err != nil || len(left) > 0 {
		t.Errorf("the journal still has %v, %v", left, err)
	}
	h.wantAudit(t, "relieve host0 done", "relieve host1 done")
}
