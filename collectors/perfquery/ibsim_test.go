//go:build integration

package perfquery

import (
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/collectors/collectortest"
	"github.com/giverny/giverny/internal/test/ibsim"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

var tree = ibsim.FatTree{Leaves: 2, Spines: 2, HostsPerLeaf: 2}

func overSubnet(s *ibsim.Subnet) Config {
	cfg := DefaultConfig()
	cfg.Command = s.Prefix()
	cfg.QueryTimeout, cfg.DiscoverTimeout = 20*time.Second, 20*time.Second // a killed tool leaves its slot in the simulator taken
	return cfg
}

// whole repeats sweeps until one has the given number of ports: on a busy machine the simulator refuses some connections.
func whole(t *testing.T, c *Collector, ports int) map[schema.PortName]map[string]uint64 {
	t.Helper()
	const patience = 20
	for range patience {
		if readings := collectortest.Read(t, c); len(readings) == ports {
			return readings
		}
	}
	t.Fatalf("no sweep of %d has %d ports", patience, ports)
	return nil
}

// A whole simulated subnet, read with the real tools before and after a change of
// PortXmitWait on a leaf's port.
func TestXmitWaitShowsUpBetweenPolls(t *testing.T) {
	subnet := ibsim.Start(t, tree.Netlist())
	c := newCollector(t, overSubnet(subnet))
	leaf0 := schema.PortName{Device: "leaf0", Port: "1"}
	const counter = "ib.port_xmit_wait_32"

	subnet.SetCounter(tree.Leaf(0), 1, "PortCounters.PortXmitWait", 1000)
	const ports = 4 * 4 // 4 hosts, 2 leaves of 4 ports, 2 spines of 2
	before := whole(t, c, ports)
	subnet.SetCounter(tree.Leaf(0), 1, "PortCounters.PortXmitWait", 251000)
	after := whole(t, c, ports)
	if was, is := before[leaf0][counter], after[leaf0][counter]; was != 1000 || is != 251000 {
		t.Errorf("PortXmitWait was %d and is %d, want 1000 and 251000", was, is)
	}
	g, _, err := topology.ReadIBNetDiscover(strings.NewReader(subnet.Output("ibnetdiscover")), "ibnetdiscover", "ib", nil)
	if err != nil {
		t.Fatal(err)
	}
	for port, counters := range after {
		if links, ok := g.FindPort(port.Device, port.Port); !ok || links.Egress == schema.NoLink {
			t.Errorf("the graph has no port %v", port)
		}
		for _, name := range []string{"ib.port_xmit_data", "ib.port_rcv_data", counter, "ib.symbol_error"} {
			if _, read := counters[name]; !read {
				t.Errorf("%v: no %s among %v", port, name, counters)
			}
		}
	}
}

// A node that cannot be read, because every datagram to it is lost, loses only its own
// rows and soon takes no time.
func TestDeafNodeOfALiveSubnet(t *testing.T) {
	subnet := ibsim.Start(t, tree.Netlist())
	cfg := overSubnet(subnet)
	c := newCollector(t, cfg)
	all := whole(t, c, 4*4)
	subnet.Console(`Error "` + tree.Leaf(1) + `" 100`)
	begun := time.Now()
	rest := collectortest.Read(t, c)
	t.Logf("a sweep with a deaf leaf took %v", time.Since(begun))
	if missing := len(all) - len(rest); missing < 4 {
		t.Errorf("%d ports of %d were read though a leaf is deaf", len(rest), len(all))
	}
	if _, read := rest[schema.PortName{Device: "leaf0", Port: "1"}]; !read {
		t.Error("the other leaf was not read")
	}
}

// A port of an adapter that does not answer loses only its own rows.
func TestDeafPortOfAnAdapter(t *testing.T) {
	const netlist = `vendid=0x2c9
devid=0xd2f0
switchguid=0x0c42a10300100000(0x0c42a10300100000)
Switch	4 "S-0c42a10300100000"		# "leaf0" base port 0 lid 0 lmc 0
[1]	"H-0c42a10300300000"[1](0c42a10300300001)		# "node0 mlx5_0" lid 0 4xHDR
[2]	"H-0c42a10300300000"[2](0c42a10300300002)		# "node0 mlx5_0" lid 0 4xHDR

vendid=0x2c9
devid=0x101b
caguid=0x0c42a10300300000
Ca	2 "H-0c42a10300300000"		# "node0 mlx5_0"
[1](0c42a10300300001)	"S-0c42a10300100000"[1]		# lid 0 lmc 0 "leaf0" lid 0 4xHDR
[2](0c42a10300300002)	"S-0c42a10300100000"[2]		# lid 0 lmc 0 "leaf0" lid 0 4xHDR
`
	subnet := ibsim.Start(t, netlist)
	c := newCollector(t, overSubnet(subnet))
	whole(t, c, 4)
	subnet.Console(`Error "H-0c42a10300300000"[1] 100`)
	rest := whole(t, c, 3)
	if _, read := rest[schema.PortName{Device: "node0 mlx5_0", Port: "2"}]; !read {
		t.Errorf("ports %v, want port 2 of the adapter among them", rest)
	}
}

// BenchmarkSweep reads the switches of a subnet of 768 switch ports.
func BenchmarkSweep(b *testing.B) {
	big := ibsim.FatTree{Leaves: 16, Spines: 8, HostsPerLeaf: 16, LinksPerPair: 2}
	subnet := ibsim.Start(b, big.Netlist())
	cfg := overSubnet(subnet)
	cfg.SwitchesOnly = true
	c, err := New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	ports := 0
	for b.Loop() {
		ports += len(collectortest.Read(b, c))
	}
	b.ReportMetric(float64(ports)/b.Elapsed().Seconds(), "ports/s")
}
