package ibsysfs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/collectors/ibsysfs"
	"github.com/giverny/giverny/schema"
)

func TestInventory(t *testing.T) {
	root := host(t)
	write(t, "28.39.1002\n", root, "mlx5_0", "fw_ver")
	write(t, "MT_0000000838\n", root, "mlx5_0", "board_id")
	write(t, "32.0 GT/s PCIe\n", root, "mlx5_0", "device", "current_link_speed")
	write(t, "16\n", root, "mlx5_0", "device", "current_link_width")
	write(t, "node7 mlx5_0\n", root, "mlx5_0", "node_desc")
	write(t, "InfiniBand\n", root, "rxe0", "ports", "1", "link_layer") // software: no PCI function, no firmware
	c := newCollector(t, root, func(c *ibsysfs.Config) { c.Devices = []string{"mlx5_0", "rxe0"} })
	list, err := c.Inventory()
	var got []schema.Adapter
	for _, d := range list {
		if a, ok := d.Read(); ok {
			got = append(got, a)
		}
	}
	want := []schema.Adapter{{Name: "mlx5_0", Device: "node7 mlx5_0", Model: "MT4129", Board: "MT_0000000838", Firmware: "28.39.1002", PCIe: "32.0 GT/s x16"},
		{Name: "rxe0", Device: "node7 rxe0", Model: "rxe"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestDataBytes(t *testing.T) {
	root := host(t)
	write(t, "100\n", root, "mlx5_0", "ports", "1", "counters", "port_rcv_data")
	write(t, "7\n", root, "mlx5_0", "ports", "2", "counters", "port_xmit_data")
	write(t, "N/A (no PMA)\n", root, "mlx5_0", "ports", "2", "counters", "port_rcv_data")
	write(t, "InfiniBand\n", root, "rxe0", "ports", "1", "link_layer")
	c := newCollector(t, root, nil)
	if got, err := c.DataBytes("mlx5_0"); err != nil || got != 4*(91827364554637+100+7) {
		t.Errorf("%d, %v", got, err)
	}
	for _, name := range []string{"rxe0", "mlx5_9", "", "../x"} { // without counters, missing, invalid
		if got, err := c.DataBytes(name); err == nil {
			t.Errorf("%q: %d", name, got)
		}
	}
}
