package hostping

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// parseHwloc reads the XML of lstopo, versions 1 to 3: packages, NUMA nodes and the tree of PCI bridges with its GPUs
// and RNICs. A socket is a set of packages and NUMA nodes that share processors.
func parseHwloc(root *element) (*machine, error) {
	h := &hwlocReader{m: &machine{}, names: namer{}, v3: strings.HasPrefix(root.attr("version"), "3")}
	root.each(nil, h.vertices)
	if err := h.joinVertices(root); err != nil {
		return nil, err
	}
	root.each(nil, h.bridges)
	h.buses(root)
	h.m.assumed = append(h.m.assumed, h.names.assign()...)
	return h.m, nil
}

type hwlocReader struct {
	m        *machine
	v3       bool
	names    namer
	packages []vertex
	memory   []vertex
	unplaced bool // a bridge without a socket was found
}

// vertex is a package or a NUMA node.
type vertex struct {
	index  int // the operating system's index
	cpus   cpuset
	above  []*element
	at     *element
	socket int
}

// object returns the type of an element; empty if it is not an object.
func object(e *element) string {
	if e.name != "object" {
		return ""
	}
	return e.attr("type")
}

func (h *hwlocReader) vertices(e *element, above []*element) {
	switch {
	case e.name == "info" && e.attr("name") == "DMIProductName" && h.m.product == "":
		h.m.product = strings.ReplaceAll(e.attr("value"), " #", " ")
	case object(e) == "Package" || object(e) == "Socket":
		h.packages = append(h.packages, newVertex(e, above))
	case object(e) == "NUMANode" && !strings.Contains(strings.ToLower(e.attr("subtype")), "gpu"):
		h.memory = append(h.memory, newVertex(e, above))
	}
}

func newVertex(e *element, above []*element) vertex {
	index, err := strconv.Atoi(e.attr("os_index"))
	if err != nil || index < 0 {
		index = -1
	}
	return vertex{index: index, cpus: parseCPUs(e.attr("cpuset")), above: slices.Clone(above), at: e, socket: -1}
}

// joinVertices determines the sockets.
func (h *hwlocReader) joinVertices(root *element) error {
	switch {
	case len(h.packages) == 0 && len(h.memory) == 0:
		return &fault{root.line, fmt.Errorf("no Package and no NUMANode: want the output of lstopo --of xml")}
	case len(h.memory) > maxDevices || len(h.packages) > maxDevices:
		return &fault{root.line, fmt.Errorf("more than %d packages or NUMA nodes", maxDevices)}
	case len(h.packages) == 0:
		h.m.assumed = append(h.m.assumed, "each NUMA node is a separate socket: the file names no packages")
		h.packages = slices.Clone(h.memory)
	}
	for i := range h.packages {
		h.packages[i].socket = i
	}
	for i := range h.memory {
		h.mergeInto(&h.memory[i])
	}
	h.compact()
	for i := range h.memory {
		h.locate(&h.memory[i])
	}
	if len(h.memory) == 0 {
		h.m.assumed = append(h.m.assumed, "each package has one NUMA node: the file names none")
		for i := range h.m.sockets {
			h.m.sockets[i].memory = []int{i}
		}
	}
	return nil
}

// mergeInto merges packages that share a NUMA node into one socket, unless it is the machine's only one: then the
// file has no NUMA information.
func (h *hwlocReader) mergeInto(node *vertex) {
	var shares []int
	for i := range h.packages {
		if node.cpus.overlaps(h.packages[i].cpus) {
			shares = append(shares, i)
		}
	}
	if len(shares) < 2 || len(shares) == len(h.packages) && len(h.memory) == 1 {
		return
	}
	first := h.packages[shares[0]].socket
	for _, i := range shares[1:] {
		from := h.packages[i].socket
		for j := range h.packages {
			if h.packages[j].socket == from {
				h.packages[j].socket = first
			}
		}
	}
	h.m.assumed = append(h.m.assumed, fmt.Sprintf("the %d packages that share NUMA node %d are one socket", len(shares), node.index))
}

// compact renumbers the remaining sockets without gaps.
func (h *hwlocReader) compact() {
	number := map[int]int{}
	for i := range h.packages {
		s := h.packages[i].socket
		if _, ok := number[s]; !ok {
			number[s] = len(number)
		}
		h.packages[i].socket = number[s]
	}
	h.m.sockets = make([]socket, len(number))
}

// locate assigns a NUMA node to a socket: by its processors, else by its place in the tree, else the first.
func (h *hwlocReader) locate(node *vertex) {
	s, how := h.socketOf(node.cpus, append(slices.Clone(node.above), node.at))
	if node.index < 0 {
		node.index = len(h.memory) + slices.IndexFunc(h.memory, func(v vertex) bool { return v.at == node.at })
		h.m.assumed = append(h.m.assumed, fmt.Sprintf("the NUMA node without a number is numa%d", node.index))
	}
	if how == "" && len(h.m.sockets) > 1 {
		h.m.assumed = append(h.m.assumed, fmt.Sprintf("numa%d is at socket%d: the file does not say where", node.index, s))
	}
	node.socket = s
	h.m.sockets[s].memory = append(h.m.sockets[s].memory, node.index)
}

// socketOf finds the socket of an object by processors or ancestors; how is empty if it is assumed.
func (h *hwlocReader) socketOf(cpus cpuset, above []*element) (s int, how string) {
	one := func(overlaps func(v *vertex) bool) (int, bool) {
		at := -1
		for i := range h.packages {
			if v := &h.packages[i]; overlaps(v) {
				if at >= 0 && at != v.socket {
					return at, false
				}
				at = v.socket
			}
		}
		return at, at >= 0
	}
	if s, ok := one(func(v *vertex) bool { return v.cpus.overlaps(cpus) }); ok {
		return s, "processors"
	}
	if s, ok := one(func(v *vertex) bool { return slices.Contains(above, v.at) }); ok {
		return s, "tree"
	}
	return 0, ""
}

// bridges reads the PCI trees: each child of a host bridge (0-1) is at its own root port.
func (h *hwlocReader) bridges(e *element, above []*element) {
	if object(e) != "Bridge" && object(e) != "PCIDev" {
		return
	}
	isHost := strings.HasPrefix(e.attr("bridge_type"), "0-") || object(e) == "Bridge" && e.attr("bridge_type") == "" && e.attr("pci_busid") == ""
	if parent := above[len(above)-1]; object(parent) == "Bridge" && !isHost { // handled with its parent
		return
	}
	var cpus cpuset
	for _, a := range above {
		if c := a.attr("cpuset"); c != "" {
			cpus = parseCPUs(c)
		}
	}
	s, how := h.socketOf(cpus, above)
	ports := []*pciNode{}
	if isHost {
		ports = h.below(e)
	} else {
		ports = append(ports, h.node(e))
	}
	for _, port := range ports {
		if port = prune(port); port == nil {
			continue
		}
		if how == "" && len(h.m.sockets) > 1 && !h.unplaced {
			h.unplaced = true
			h.m.assumed = append(h.m.assumed, "PCI devices without a package are at socket0: the file does not say where")
		}
		h.m.sockets[s].ports = append(h.m.sockets[s].ports, port)
	}
}

// below returns the children of a bridge. Functions of one device share its link, so they are one node.
func (h *hwlocReader) below(e *element) (nodes []*pciNode) {
	cards := map[string]*pciNode{}
	for _, child := range e.children {
		if object(child) != "Bridge" && object(child) != "PCIDev" {
			continue
		}
		n := h.node(child)
		card, _, _ := strings.Cut(child.attr("pci_busid"), ".")
		if same := cards[card]; object(child) == "PCIDev" && card != "" && same != nil {
			h.names.move(n, same)
			continue
		}
		if object(child) == "PCIDev" {
			cards[card] = n
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// node converts a bridge, with its children, or a device. Bridges are ports: a switch's upstream port is the vertex;
// its downstream ports have one child each, so prune removes them.
func (h *hwlocReader) node(e *element) *pciNode {
	if object(e) == "Bridge" {
		return &pciNode{name: "switch-" + e.attr("pci_busid"), children: h.below(e)}
	}
	n := &pciNode{}
	bus := e.attr("pci_busid")
	gpu, rdma := "", ""
	isGPU := false
	for _, child := range e.children {
		if object(child) != "OSDev" {
			continue
		}
		name := child.attr("name")
		switch kind := osGPU.FindStringSubmatch(name); {
		case kind != nil && (gpu == "" || kind[1] == "nvml" || kind[1] == "rsmi"):
			gpu, isGPU = numbered("gpu", kind[2]), true
		case h.isRDMA(child):
			rdma = name
			h.names.add(n, bus, false, name)
		}
	}
	class := e.attr("pci_type")
	switch {
	case isGPU:
		h.names.add(n, bus, true, gpu)
	case strings.HasPrefix(class, class3D), strings.HasPrefix(class, classDisplay):
		h.names.add(n, bus, true, "")
	case strings.HasPrefix(class, classVGA) && strings.Contains(class, nvidia):
		h.names.add(n, bus, true, "")
	case rdma == "" && strings.HasPrefix(class, classInfiniBand):
		h.names.add(n, bus, false, "")
	}
	return n
}

// osGPU matches GPUs as compute devices, with the index of NVML, CUDA, ROCm or Level Zero.
var osGPU = regexp.MustCompile(`^(nvml|cuda|rsmi|ze)([0-9]+)$`)

// isRDMA detects RDMA devices: osdev_type 3 up to version 2; from version 3 on a bit set in which 32 is an RDMA device.
func (h *hwlocReader) isRDMA(e *element) bool {
	kind, err := strconv.Atoi(e.attr("osdev_type"))
	switch {
	case rdmaName.MatchString(e.attr("name")), e.attr("osdev_type") == "OpenFabrics":
		return true
	case err != nil:
		return false
	}
	return kind&32 != 0 || !h.v3 && kind == 3
}

// rdmaName matches device names given by RDMA drivers.
var rdmaName = regexp.MustCompile(`^(mlx[45]|bnxt_re|irdma|hfi1|efa|hns|qedr|cxgb4|erdma|mana|roce|rdma|rxe|siw)_?[0-9a-z_]*$`)

// buses connects the sockets at the least distance, by the latencies of their NUMA nodes; all, if these are unknown.
func (h *hwlocReader) buses(root *element) {
	n := len(h.m.sockets)
	distance := h.distances(root)
	if distance == nil {
		h.m.connectAll("the file has no distances")
		return
	}
	least := math.Inf(1)
	for a := range n {
		for b := range a {
			least = min(least, distance[a][b])
		}
	}
	joined := newSets(n)
	for reach := least; ; { // beyond the least only where sockets would be disconnected
		beyond := math.Inf(1)
		for a := range n {
			for b := range a {
				switch d := distance[a][b]; {
				case d == reach && (reach == least || joined.find(a) != joined.find(b)):
					h.m.buses = append(h.m.buses, [2]int{b, a})
					joined.join(a, b)
				case d > reach:
					beyond = min(beyond, d)
				}
			}
		}
		if math.IsInf(beyond, 1) {
			return
		}
		reach = beyond
	}
}

// distances between sockets, as those of their nearest NUMA nodes; nil if the file does not have all.
func (h *hwlocReader) distances(root *element) [][]float64 {
	n := len(h.m.sockets)
	var indexes, values []float64
	root.each(nil, func(e *element, _ []*element) {
		if e.name != "distances2" || e.attr("type") != "NUMANode" || !strings.Contains(e.attr("name"), "Latency") || indexes != nil {
			return
		}
		for _, child := range e.children {
			switch child.name {
			case "indexes":
				indexes = append(indexes, floats(child.text)...)
			case "u64values":
				values = append(values, floats(child.text)...)
			}
		}
	})
	if len(indexes) == 0 || len(values) != len(indexes)*len(indexes) {
		return nil
	}
	socketAt := map[int]int{}
	for _, v := range h.memory {
		socketAt[v.index] = v.socket
	}
	distance := make([][]float64, n)
	for a := range distance {
		distance[a] = slices.Repeat([]float64{math.Inf(1)}, n)
	}
	for i, from := range indexes {
		for j, to := range indexes {
			a, okA := socketAt[int(from)]
			b, okB := socketAt[int(to)]
			if okA && okB {
				distance[a][b] = min(distance[a][b], values[i*len(indexes)+j])
			}
		}
	}
	for a := range n {
		for b := range a {
			distance[a][b] = min(distance[a][b], distance[b][a])
			if math.IsInf(distance[a][b], 1) {
				return nil
			}
		}
	}
	return distance
}

func floats(text string) (values []float64) {
	for _, f := range strings.Fields(text) {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil || math.IsNaN(v) {
			return nil
		}
		values = append(values, v)
	}
	return values
}
