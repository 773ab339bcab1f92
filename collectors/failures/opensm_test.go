//go:build integration

package failures_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/collectors/failures"
	"github.com/giverny/giverny/collectors/nodes"
	"github.com/giverny/giverny/internal/test/ibsim"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// A real OpenSM logs that a host's cable is pulled and restored: both are parsed, and the node's description is that
// of the host's adapter in the graph from ibnetdiscover.
func TestRealOpenSM(t *testing.T) {
	tree := ibsim.FatTree{Leaves: 2, Spines: 2, HostsPerLeaf: 2}
	subnet := ibsim.Start(t, tree.Netlist())
	graph, _, err := topology.ReadIBNetDiscover(strings.NewReader(subnet.Output("ibnetdiscover")), "net", "ib", nil)
	if err != nil {
		t.Fatal(err)
	}
	subnet.Unlink(tree.Leaf(1), 1) // host 2
	subnet.Relink(tree.Leaf(1), 1)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	var kinds []schema.EventKind
	resolver := nodes.New([]*topology.Graph{graph}, nil)
	log, err := os.ReadFile(filepath.Join(subnet.Dir(), "opensm.log"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := parse(string(log), failures.Options{Zone: time.Local, Host: host, Reference: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range rows.Failures {
		devices, reason := resolver.Device(f.Device)
		if reason != "" {
			t.Errorf("%s is no device: %s", f.Device, reason)
		} else if want := "node2 mlx5_0"; len(devices[0]) == 1 && devices[0][0] == want {
			kinds = append(kinds, f.Kind)
		}
		if age := time.Since(f.Time.Time()); age < -time.Minute || age > time.Hour {
			t.Errorf("%s is %v ago", f.Detail, age)
		}
	}
	if len(kinds) != 2 || kinds[0] != schema.NodeFailed || kinds[1] != schema.NodeRestored {
		t.Errorf("host 2: %v, want that it failed and came back; dropped %v", kinds, rows.Dropped)
	}
}
