package feedback

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/giverny/giverny/collectors/nodes"
	"github.com/giverny/giverny/topology"
)

// nodeMap maps device names of the topology to a scheduler's node names.
type nodeMap map[string]string // key: device

// readNodeMap reads lines of "node<TAB>device", the format that job feeds use too, so that one file can serve
// both. Without a file the names are the same.
func readNodeMap(path string) (nodeMap, error) {
	devices, err := nodes.OpenMap(os.Open, path)
	if err != nil {
		return nil, fmt.Errorf("node_map: %w", err)
	}
	m := nodeMap{}
	for _, node := range slices.Sorted(maps.Keys(devices)) {
		for _, device := range devices[node] {
			if other, twice := m[device]; twice {
				return nil, fmt.Errorf("node_map: %s: device %q is mapped to nodes %q and %q; remove one of them", path, device, other, node)
			}
			m[device] = node
		}
	}
	return m, nil
}

// nodeOf returns the scheduler's name of a device: the one in the file, else the
// device's own. An InfiniBand adapter ("n1 HCA-1") gets the name of its host unless the
// file names the adapter itself.
func (m nodeMap) nodeOf(device string) string {
	if node, ok := m[device]; ok {
		return node
	}
	host := topology.HostOf(device)
	if node, ok := m[host]; ok {
		return node
	}
	return host
}

// unknownDevices lists devices of the file that are on no fabric, for a warning.
func (m nodeMap) unknownDevices(graphs map[string]*topology.Graph) (devices []string) {
	known := map[string]bool{}
	for _, g := range graphs {
		for i := range g.NumDevices() {
			name := g.Device(topology.DeviceID(i)).Name
			known[name], known[topology.HostOf(name)] = true, true
		}
	}
	for device := range m {
		if !known[device] {
			devices = append(devices, device)
		}
	}
	return devices
}
