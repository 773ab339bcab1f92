package hostping

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxColumns bounds the table.
const maxColumns = 256

// Nearness of two devices in the table, nearest first; 0 is unknown.
const (
	oneSwitch = iota + 1
	oneRootPort
	oneHostBridge
	oneNode
	twoNodes
)

// nearness of the table's words; NV# says nothing about PCIe.
var nearness = map[string]int{"PIX": oneSwitch, "PXB": oneRootPort, "PHB": oneHostBridge, "NODE": oneNode, "SYS": twoNodes, "SOC": twoNodes, "QPI": twoNodes}

var (
	escapes   = regexp.MustCompile("\x1b\\[[0-9;]*m")
	nicLegend = regexp.MustCompile(`^\s*(NIC\d+): *(\S+)`)
	column    = regexp.MustCompile(`^(GPU\d+|NIC\d+|[a-z][a-z0-9]*_[a-z0-9_]+)$`)
)

// smiTable is the table of nvidia-smi topo -m.
type smiTable struct {
	names []string
	near  [][]int // nearness
	numa  []int   // -1: unknown
}

// parseNvidiaSMI reads the text of nvidia-smi topo -m: PIX means one switch, PXB several below one root port, PHB and
// NODE one NUMA node, SYS two.
func parseNvidiaSMI(text string) (*machine, error) {
	table, legend, err := smiRows(escapes.ReplaceAllString(text, ""))
	if err != nil {
		return nil, err
	}
	m := &machine{product: "nvidia-smi"}
	used := map[int]bool{}
	groups := table.groups(oneNode, nil)
	for _, group := range groups {
		if n := table.numaOf(group); n >= 0 {
			used[n] = true
		}
	}
	taken := map[int]bool{}
	for _, group := range groups {
		n := table.numaOf(group)
		if n < 0 || taken[n] {
			for n = 0; used[n]; n++ {
			}
			used[n] = true
			m.assumed = append(m.assumed, fmt.Sprintf("the NUMA node of %s is numa%d: the table gives them none", table.names[group[0]], n))
		}
		taken[n] = true
		s := socket{memory: []int{n}}
		for _, below := range table.groups(oneRootPort, group) {
			s.ports = append(s.ports, table.port(below, legend))
		}
		m.sockets = append(m.sockets, s)
	}
	m.assumed = append(m.assumed, "each NUMA node is a separate socket, and every NUMA node has devices: the table has no sockets")
	m.connectAll("the table does not say how")
	m.assumed = append(m.assumed, "devices of one root port hang from one switch where the table says PIX, and these from another where it says PXB")
	return m, nil
}

// smiRows parses the table and the legend.
func smiRows(text string) (*smiTable, map[string]string, error) {
	t := &smiTable{}
	legend := map[string]string{}
	rows := map[string]bool{}
	for number, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case nicLegend.MatchString(line):
			m := nicLegend.FindStringSubmatch(line)
			legend[m[1]] = m[2]
		case t.names == nil && column.MatchString(fields[0]) && (len(fields) == 1 || fields[1] != "X"):
			for _, f := range fields {
				if !column.MatchString(f) {
					break
				}
				t.names = append(t.names, f)
			}
			if len(t.names) > maxColumns {
				return nil, nil, &fault{number + 1, fmt.Errorf("more than %d devices", maxColumns)}
			}
			t.near = make([][]int, len(t.names))
			t.numa = slices.Repeat([]int{-1}, len(t.names))
		case slices.Contains(t.names, fields[0]):
			if rows[fields[0]] {
				return nil, nil, &fault{number + 1, fmt.Errorf("duplicate row of %s", fields[0])}
			}
			rows[fields[0]] = true
			if err := t.row(fields); err != nil {
				return nil, nil, &fault{number + 1, err}
			}
		}
	}
	if len(t.names) == 0 {
		return nil, nil, &fault{1, fmt.Errorf("no table: want the output of nvidia-smi topo -m, or the XML of lstopo --of xml or NCCL_TOPO_DUMP_FILE")}
	}
	for i, name := range t.names {
		if t.near[i] == nil {
			return nil, nil, fmt.Errorf("the row of %s is missing: the file is truncated; regenerate it", name)
		}
	}
	return t, legend, nil
}

// row parses the cells of a device, followed by its NUMA node.
func (t *smiTable) row(fields []string) error {
	at, n := slices.Index(t.names, fields[0]), len(t.names)
	cells := fields[1:]
	if len(cells) < n {
		return fmt.Errorf("%s has %d cells, want %d: the file is truncated; regenerate it", fields[0], len(cells), n)
	}
	t.near[at] = make([]int, n)
	for i, cell := range cells[:n] {
		near, ok := nearness[cell]
		if !ok && cell != "X" && !strings.HasPrefix(cell, "NV") {
			return fmt.Errorf("cell %q of %s: want X, NV#, PIX, PXB, PHB, NODE or SYS", cell, fields[0])
		}
		t.near[at][i] = near
	}
	if rest := cells[n:]; len(rest) > 1 { // CPU affinity, NUMA affinity
		if numa, err := strconv.Atoi(rest[1]); err == nil && numa >= 0 && numa < maxDevices {
			t.numa[at] = numa
		}
	}
	return nil
}

// groups joins the devices (all if among is nil) with nearness up to limit, in their order.
func (t *smiTable) groups(limit int, among []int) (groups [][]int) {
	if among == nil {
		for i := range t.names {
			among = append(among, i)
		}
	}
	seen := map[int]bool{}
	for _, first := range among {
		if seen[first] {
			continue
		}
		group := []int{first}
		seen[first] = true
		for k := 0; k < len(group); k++ {
			for _, other := range among {
				if seen[other] {
					continue
				}
				near := t.near[group[k]][other]
				sameNode := limit == oneNode && t.numa[other] >= 0 && t.numa[other] == t.numa[group[k]]
				if near > 0 && near <= limit || sameNode {
					seen[other] = true
					group = append(group, other)
				}
			}
		}
		slices.Sort(group)
		groups = append(groups, group)
	}
	return groups
}

// numaOf returns the NUMA node given for a device of a group, or -1.
func (t *smiTable) numaOf(group []int) int {
	for _, i := range group {
		if t.numa[i] >= 0 {
			return t.numa[i]
		}
	}
	return -1
}

// port returns what is below a root port: a switch per PIX group, and one above if there are several.
func (t *smiTable) port(group []int, legend map[string]string) *pciNode {
	top := &pciNode{name: "switch-" + t.names[group[0]] + "-top"}
	for _, switched := range t.groups(oneSwitch, group) {
		leaf := &pciNode{name: "switch-" + t.names[switched[0]]}
		for _, i := range switched {
			name := t.names[i]
			d := device{id: name}
			if number, ok := strings.CutPrefix(name, "GPU"); ok {
				d = device{id: "gpu" + number, gpu: true}
			} else if rdma, ok := legend[name]; ok {
				d.id = rdma
			}
			leaf.children = append(leaf.children, &pciNode{devices: []device{d}})
		}
		top.children = append(top.children, leaf)
	}
	return top
}
