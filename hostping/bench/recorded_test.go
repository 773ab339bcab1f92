package bench_test

import (
	"os"
	"testing"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/internal/test/repo"
)

// recorded is the graph of a fixture.
func recorded(t *testing.T, name string) hostping.Graph {
	t.Helper()
	text, err := os.ReadFile(repo.Fixture(t, "hosts", "nccl-topo", name+"-topo.xml"))
	if err != nil {
		t.Fatal(err)
	}
	g, err := hostping.ReadGraph(name, text, hostping.NCCL)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
