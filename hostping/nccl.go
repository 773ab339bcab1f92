package hostping

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// PCI classes, the first four hexadecimal digits.
const (
	class3D         = "0302"
	classDisplay    = "0380"
	classVGA        = "0300" // of a GPU, or of the board's own management
	classInfiniBand = "0207"

	nvidia = "[10de:"
)

// notRDMA matches network interfaces that are not RDMA device names.
var notRDMA = regexp.MustCompile(`^(eth|en[opsx]|bond|lo|docker|veth|ib[0-9]+$)`)

// parseNCCL reads the XML of NCCL_TOPO_DUMP_FILE (or a cloud's own topology file, which names no devices): <cpu> per
// NUMA node, <pci> per switch or device, with <gpu dev> and <net name> inside.
func parseNCCL(root *element) (*machine, error) {
	r := &ncclReader{m: &machine{product: "nccl"}, names: namer{}}
	for _, cpu := range root.children {
		if cpu.name != "cpu" {
			continue
		}
		var s socket
		if n, err := strconv.Atoi(cpu.attr("numaid")); err == nil && n >= 0 {
			s.memory = []int{n}
		} else {
			s.memory = []int{-1} // numbered below
		}
		for _, child := range cpu.children {
			if child.name == "pci" {
				s.ports = append(s.ports, r.pci(child))
			}
		}
		r.m.sockets = append(r.m.sockets, s)
	}
	if len(r.m.sockets) == 0 {
		return nil, &fault{root.line, fmt.Errorf("<system> without <cpu>: want a file of NCCL_TOPO_DUMP_FILE")}
	}
	r.number()
	r.m.assumed = append(r.m.assumed, "each NUMA node is a separate socket: the file names no sockets")
	r.m.connectAll("the file does not say how")
	r.m.assumed = append(r.m.assumed, "every NUMA node has devices: the file omits those without")
	r.m.assumed = append(r.m.assumed, r.names.assign()...)
	return r.m, nil
}

type ncclReader struct {
	m     *machine
	names namer
}

// number gives unnumbered NUMA nodes the lowest free numbers.
func (r *ncclReader) number() {
	used := map[int]bool{}
	for _, s := range r.m.sockets {
		used[s.memory[0]] = true
	}
	for i := range r.m.sockets {
		if r.m.sockets[i].memory[0] >= 0 {
			continue
		}
		n := 0
		for used[n] {
			n++
		}
		used[n] = true
		r.m.sockets[i].memory[0] = n
		r.m.assumed = append(r.m.assumed, fmt.Sprintf("the NUMA node without a number is numa%d", n))
	}
}

func (r *ncclReader) pci(e *element) *pciNode {
	n := &pciNode{name: "switch-" + e.attr("busid")}
	class := strings.TrimPrefix(e.attr("class"), "0x")
	var named bool
	for _, child := range e.children {
		switch child.name {
		case "pci":
			n.children = append(n.children, r.pci(child))
		case "gpu":
			named = true
			r.names.add(n, e.attr("busid"), true, numbered("gpu", child.attr("dev")))
		case "nic":
			for _, net := range child.children {
				if net.name == "net" && !notRDMA.MatchString(net.attr("name")) {
					named = true
					r.names.add(n, e.attr("busid"), false, net.attr("name"))
				}
			}
		}
	}
	if named || len(n.children) > 0 {
		return n
	}
	switch {
	case strings.HasPrefix(class, class3D), strings.HasPrefix(class, classDisplay):
		r.names.add(n, e.attr("busid"), true, "")
	case strings.HasPrefix(class, classInfiniBand):
		r.names.add(n, e.attr("busid"), false, "")
	}
	return n
}

// numbered returns prefix with a number; empty if it is not a number.
func numbered(prefix, number string) string {
	if n, err := strconv.Atoi(number); err != nil || n < 0 {
		return ""
	}
	return prefix + number
}

// namer names the devices once all are known.
type namer struct{ found []found }

type found struct {
	at         *pciNode
	index      int // in its node's devices
	busID, own string
	gpu        bool
}

// add adds a device to a node. If own is empty, it is named later by its place on the PCI bus.
func (n *namer) add(at *pciNode, busID string, gpu bool, own string) {
	n.found = append(n.found, found{at, len(at.devices), strings.ToLower(busID), own, gpu})
	at.devices = append(at.devices, device{id: own, gpu: gpu})
}

// assign names unnamed devices in the order of the PCI bus, as drivers do, and returns the assumptions.
func (n *namer) assign() (assumed []string) {
	used := map[string]bool{}
	for _, f := range n.found {
		used[f.own] = true
	}
	slices.SortStableFunc(n.found, func(a, b found) int { return cmp.Compare(a.busID, b.busID) })
	next := map[bool]int{}
	given := map[bool][]string{}
	for _, f := range n.found {
		if f.own != "" {
			continue
		}
		prefix := "mlx5_"
		if f.gpu {
			prefix = "gpu"
		}
		id := ""
		for id == "" || used[id] {
			id = prefix + strconv.Itoa(next[f.gpu])
			next[f.gpu]++
		}
		f.at.devices[f.index].id = id
		given[f.gpu] = append(given[f.gpu], f.busID+" is "+id)
	}
	for _, gpu := range []bool{true, false} {
		if what := map[bool]string{true: "GPUs", false: "RNICs"}[gpu]; len(given[gpu]) > 0 {
			assumed = append(assumed, fmt.Sprintf("%s without a name are numbered by their PCI bus: %s", what, strings.Join(given[gpu], ", ")))
		}
	}
	return assumed
}
