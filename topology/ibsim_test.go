//go:build integration

package topology_test

import (
	"testing"

	"github.com/giverny/giverny/internal/test/ibsim"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// The real ibnetdiscover on a simulated subnet: from every node it gives the same
// version, its other format gives the same links, and after a cable is removed the
// difference is that cable.
func TestIBNetDiscoverOfASubnet(t *testing.T) {
	tree := ibsim.FatTree{Leaves: 3, Spines: 2, HostsPerLeaf: 2, LinksPerPair: 2}
	subnet := ibsim.Start(t, tree.Netlist())
	discover := func(from string, args ...string) *topology.Graph {
		command := append([]string{"SIM_HOST=" + from, "ibnetdiscover"}, args...)
		return readIB(t, []byte(subnet.Output("env", command...)), nil)
	}
	before := discover(tree.Spine(0))
	if s := topology.Summarize(before); s.Switches != 5 || s.ChannelAdapters != 6 || s.Links != 2*(6+3*2*2) || s.SwitchesByLevel["1"] != 3 {
		t.Errorf("%+v", s)
	}
	checkIBDiagnet(t, before)
	for _, from := range []string{tree.Host(5), tree.Leaf(1)} {
		if again := discover(from); again.Version() != before.Version() {
			d := topology.Diff(before, again)
			t.Errorf("from %s: version %x, then %x: %v", from, before.Version(), again.Version(), &d)
		}
	}
	ports := topology.Diff(before, discover(tree.Host(0), "-p")) // which prints the GUIDs of adapters' ports, not of adapters
	if len(ports.DevicesChanged) != 6 || len(ports.LinksAdded)+len(ports.LinksRemoved)+len(ports.Rerated) != 0 {
		t.Errorf("with -p: %v", &ports)
	}

	subnet.Unlink(tree.Leaf(2), tree.Uplink(1, 0))
	after := discover(tree.Host(0))
	d := topology.Diff(before, after)
	if len(d.LinksRemoved) != 2 || len(d.LinksAdded)+len(d.DevicesRemoved)+len(d.Recabled) != 0 {
		t.Errorf("one cable is out: %v", &d)
	}
	for i, id := range topology.Moved(before, after) {
		if link := schema.LinkID(i); id != schema.NoLink && before.PortKey(link) != after.PortKey(id) {
			t.Errorf("%s became %s", before.LinkName(link), after.LinkName(id))
		}
	}
}
