package feedback

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// An adapter is named by its own line in the file, else by its host's line, else by its host's name.
func TestNodeOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "map")
	if err := os.WriteFile(path, []byte("nid[1-2]\tn[1-2]\nnid9\tn2 HCA-2\nleft\thost7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := readNodeMap(path)
	if err != nil {
		t.Fatal(err)
	}
	for device, want := range map[string]string{"n1": "nid1", "n1 HCA-1": "nid1", "n2 HCA-1": "nid2", "n2 HCA-2": "nid9", "n3 mlx5_0": "n3", "n4": "n4", "leaf 1": "leaf 1"} {
		if got := m.nodeOf(device); got != want {
			t.Errorf("%s is on %s, want %s", device, got, want)
		}
	}
	g := topologytest.Parse(t, "ib0", "fattree:k=4")
	delete(m, "n1")
	delete(m, "n2")
	if unknown := m.unknownDevices(map[string]*topology.Graph{"ib0": g}); len(unknown) != 1 || unknown[0] != "n2 HCA-2" {
		t.Errorf("unknown: %q", unknown)
	}
}
