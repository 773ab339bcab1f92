package topology_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Numbers with leading zeros and others of as many digits are one range; a fabric whose hosts have several adapters has rails.
func TestDescribeRails(t *testing.T) {
	b := topology.NewBuilder("ib0")
	core := b.Device(topology.Device{Name: "core", Level: 2, Group: -1})
	for i := 1; i <= 12; i++ {
		leaf := b.Device(topology.Device{Name: fmt.Sprintf("LG1-%02d", i), Level: 1, Group: -1})
		b.Both(topology.Link{From: leaf, To: core, FromPort: "9", ToPort: strconv.Itoa(i), Class: topology.ClassSwitch, Dim: -1})
		for h := range 2 {
			name := fmt.Sprintf("n%d mlx5_%d", h+2*((i-1)/2), (i-1)%2) // two leaves share hosts
			host := b.Device(topology.Device{Name: name, Kind: topology.Host, Group: -1})
			b.Both(topology.Link{From: host, To: leaf, FromPort: "1", ToPort: strconv.Itoa(h), Class: topology.ClassHost, Dim: -1})
		}
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	of := func(names ...string) (links []schema.LinkID) {
		for _, name := range names {
			port, ok := g.FindPort(name, "1")
			if !ok {
				t.Fatal(name)
			}
			links = append(links, port.Egress)
		}
		return links
	}
	root := &schema.Root{Device: "core", Port: "1", Peer: "LG1-01", Link: schema.NoLink}
	for _, c := range []struct {
		links []schema.LinkID
		root  *schema.Root
		want  string
	}{
		{of("n6 mlx5_0", "n6 mlx5_1", "n8 mlx5_0", "n8 mlx5_1", "n10 mlx5_0"), nil, "LG1-07..11"},
		{of("n6 mlx5_0", "n7 mlx5_0", "n8 mlx5_0", "n10 mlx5_0"), nil, "mlx5_0 of hosts of LG1-07, LG1-09, LG1-11"},
		{of("n6 mlx5_1", "n7 mlx5_1", "n8 mlx5_1"), root, "congestion tree at core port 1 (LG1-01), from hosts of LG1-08, LG1-10, rail mlx5_1"},
		{of("n6 mlx5_1", "n7 mlx5_1", "n8 mlx5_0"), root, "congestion tree at core port 1 (LG1-01), from hosts of LG1-08..09"},
		{of("n6 mlx5_1", "n7 mlx5_1", "n8 mlx5_1"), &schema.Root{Device: "LG1-12", Port: "0", Peer: "n10 mlx5_1"}, "congestion tree at LG1-12 port 0 (n10 mlx5_1), from hosts of LG1-08, LG1-10"},
		{of("n6 mlx5_1"), root, "congestion tree at core port 1 (LG1-01), from hosts of LG1-08"},
	} {
		if got := g.DescribeRegion(&schema.Region{Links: c.links, Root: c.root}); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
