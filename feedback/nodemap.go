package feedback

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/giverny/giverny/topology"
)

// nodeMap gives the devices of topologies the names that a scheduler has for them.
type nodeMap map[string]string // by device

// readNodeMap reads lines of node<TAB>device; without a file the names are the same.
func readNodeMap(path string) (nodeMap, error) {
	m := nodeMap{}
	if path == "" {
		return m, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("node_map: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimRight(lines.Text(), "\r")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		node, device, ok := strings.Cut(line, "\t")
		if !ok || node == "" || device == "" {
			return nil, fmt.Errorf("node_map: %s:%d: want node<TAB>device", path, n)
		}
		if other, twice := m[device]; twice && other != node {
			return nil, fmt.Errorf("node_map: %s:%d: device %q is on node %q already", path, n, device, other)
		}
		m[device] = node
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("node_map: %s: %w", path, err)
	}
	return m, nil
}

// nodeOf is the scheduler's name of a device: the one that the file gives, else its
// own; of an InfiniBand adapter ("n1 HCA-1") the host's in front.
func (m nodeMap) nodeOf(device string) string {
	if node, ok := m[device]; ok {
		return node
	}
	if host, adapter, ok := strings.Cut(device, " "); ok && isAdapter(adapter) {
		return host
	}
	return device
}

// isAdapter says whether the second word of a node description is an adapter's, as
// drivers write it (HCA-1, mlx5_0, hfi1_0).
func isAdapter(word string) bool {
	for _, prefix := range []string{"HCA-", "mlx4_", "mlx5_", "hfi1_", "ibp"} {
		if rest, ok := strings.CutPrefix(word, prefix); ok && rest != "" && !strings.ContainsAny(rest, " \t,[]=") {
			return true
		}
	}
	return false
}

// unknownDevices lists devices of the file that a fabric does not have, for a warning.
func (m nodeMap) unknownDevices(graphs map[string]*topology.Graph) (devices []string) {
	for device := range m {
		found := false
		for _, g := range graphs {
			if _, ok := g.FindDevice(device); ok {
				found = true
			}
		}
		if !found {
			devices = append(devices, device)
		}
	}
	return devices
}
