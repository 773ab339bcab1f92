package ibsysfs

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/giverny/giverny/schema"
)

// Described is an adapter whose description is not read yet, since its driver may hang.
type Described struct {
	Name string
	// Read reads the description. ok is false for an adapter that is being removed.
	Read func() (a schema.Adapter, ok bool)
}

// Inventory lists the current adapters. It and what it returns are safe for concurrent
// use, also with Devices.
func (c *Collector) Inventory() ([]Described, error) {
	visits, err := c.list(nil)
	if err != nil {
		return nil, err
	}
	list := make([]Described, len(visits))
	for i, v := range visits {
		list[i] = Described{v.name, v.describe}
	}
	return list, nil
}

// describe reads the adapter's description, with the device name used in its rows.
func (v *visit) describe() (schema.Adapter, bool) {
	ports, err := os.ReadDir(filepath.Join(v.dir, "ports"))
	if err != nil || len(ports) == 0 {
		return schema.Adapter{}, false
	}
	port := ports[0].Name()
	return schema.Adapter{Name: v.name, Device: v.portName(port, text(filepath.Join(v.dir, "ports", port, "link_layer"))).Device,
		Model: v.model(), Board: text(filepath.Join(v.dir, "board_id")), Firmware: text(filepath.Join(v.dir, "fw_ver")), PCIe: v.slot()}, true
}

// model is the driver's name of the model, or else the PCI vendor and device IDs, or
// else the driver family.
func (a *adapter) model() string {
	pci := func(file string) string { return strings.TrimPrefix(text(filepath.Join(a.dir, "device", file)), "0x") }
	if vendor, device := pci("vendor"), pci("device"); vendor != "" && device != "" {
		return cmp.Or(text(filepath.Join(a.dir, "hca_type")), vendor+":"+device)
	}
	return cmp.Or(text(filepath.Join(a.dir, "hca_type")), a.family())
}

// slot is the negotiated speed and width of the adapter's PCIe slot; empty for software devices.
func (a *adapter) slot() string {
	speed, _, _ := strings.Cut(text(filepath.Join(a.dir, "device", "current_link_speed")), " PCIe")
	width := text(filepath.Join(a.dir, "device", "current_link_width"))
	if speed == "" || width == "" {
		return ""
	}
	return speed + " x" + width
}

// bytesPerWord: the data counters of a port count words of 4 bytes (IBA, PortXmitData).
const bytesPerWord = 4

// DataBytes is the number of bytes that all ports of an adapter have sent and received
// since the driver was loaded. It is safe for concurrent use.
func (c *Collector) DataBytes(adapter string) (bytes uint64, err error) {
	if adapter == "" || strings.ContainsAny(adapter, `/\`) {
		return 0, fmt.Errorf("adapter %q: want a name such as mlx5_0", adapter)
	}
	a := &visit{adapter: newAdapter(filepath.Join(c.cfg.Root, adapter), adapter), cfg: &c.cfg}
	ports, err := os.ReadDir(filepath.Join(a.dir, "ports"))
	if err != nil {
		return 0, err
	}
	counters := 0
	for _, p := range ports {
		for _, file := range []string{"port_xmit_data", "port_rcv_data"} {
			words, err := a.readCounter(filepath.Join(a.dir, "ports", p.Name(), "counters", file))
			if errors.Is(err, os.ErrNotExist) || errors.Is(err, errNotOffered) {
				continue
			}
			if err != nil {
				return 0, err
			}
			counters++
			bytes += words * bytesPerWord
		}
	}
	if counters == 0 {
		return 0, fmt.Errorf("adapter %s has no data counters: traffic of others on it cannot be measured", adapter)
	}
	return bytes, nil
}
