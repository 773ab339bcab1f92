package scenario

import (
	"fmt"
	"strings"
	"testing"

	"github.com/giverny/giverny/topology"
)

// Hosts are listed by number or by name; the name of a host with several rails means
// all of them.
func TestHostLists(t *testing.T) {
	b := topology.NewBuilder("f")
	leaf := b.Device(topology.Device{Name: "leaf", Kind: topology.Switch, Level: 1, Group: -1})
	for n, name := range []string{"n1 mlx5_0", "n1 mlx5_1", "n2 mlx5_0", "n3"} {
		host := b.Device(topology.Device{Name: name, Kind: topology.Host, Group: -1})
		b.Both(topology.Link{From: host, To: leaf, FromPort: "1", ToPort: fmt.Sprint(n), Class: topology.ClassHost, CapacityBytesPerSecond: 1e9, Dim: -1})
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	for list, want := range map[string]string{
		"0-1, 3": "n1 mlx5_0; n1 mlx5_1; n3", "n[1-2]": "n1 mlx5_0; n1 mlx5_1; n2 mlx5_0", "n3,n1 mlx5_1": "n3; n1 mlx5_1",
		"4": "within 0-3", "3-1": "within 0-3", "n4": `no host "n4"`, "leaf": `no host "leaf"`, "n1,n1 mlx5_0": `"n1 mlx5_0" is duplicated`, "0,0": "is duplicated", "n[1": "[ without ]",
	} {
		found, err := hostList(g, list)
		var names []string
		for _, d := range found {
			names = append(names, g.Device(d).Name)
		}
		if got := strings.Join(names, "; "); err == nil && got != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v; want %q", list, got, err, want)
		}
	}
}
