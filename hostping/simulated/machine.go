package simulated

import (
	"fmt"
	"strings"
)

// Machine describes a host: for each socket its NUMA nodes and what is below its root ports. A port is written as a
// tree: G is a GPU, N an RNIC, and parentheses are a PCIe switch; "((NG)G)" is a switch with a GPU and a second
// switch, which has an RNIC and a GPU.
type Machine struct {
	Name    string
	Sockets []Socket
}

// Socket is a socket of a Machine.
type Socket struct {
	NUMANodes int
	Ports     []string
}

// Machines are different products: the paper's, and typical training hosts.
func Machines() []Machine {
	same := func(n, numa int, ports ...string) (s []Socket) {
		for range n {
			s = append(s, Socket{numa, ports})
		}
		return s
	}
	return []Machine{
		{"fig2", same(2, 1, "((NG)G)", "((NG)G)")}, // two sockets of four GPUs and two RNICs each behind PCIe switches
		{"2x4-rails", same(2, 1, "(NG)", "(NG)", "(NG)", "(NG)")},
		{"4x2-pairs", same(4, 1, "(GNGN)")},
		{"nps4", same(2, 4, "((NG)(NG))", "((NG)(NG))")},
		{"1-socket", same(1, 2, "(NGG)", "(NGG)", "N", "G")},
	}
}

// XML is the machine in the format of lstopo --of xml, limited to what the reader needs.
func (m *Machine) XML() string {
	w := &xmlWriter{}
	fmt.Fprintf(&w.b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n")
	fmt.Fprintf(&w.b, "<object type=\"Machine\" os_index=\"0\">\n<info name=\"DMIProductName\" value=\"simulated %s\"/>\n", m.Name)
	node := 0
	for s, socket := range m.Sockets {
		fmt.Fprintf(&w.b, "<object type=\"Package\" os_index=\"%d\" cpuset=\"%s\">\n", s, cpus(s))
		for range socket.NUMANodes {
			fmt.Fprintf(&w.b, "<object type=\"NUMANode\" os_index=\"%d\" cpuset=\"%s\"/>\n", node, cpus(s))
			node++
		}
		fmt.Fprintf(&w.b, "<object type=\"Bridge\" bridge_type=\"0-1\" depth=\"0\">\n")
		for _, port := range socket.Ports {
			w.open()
			w.tree(port)
			w.close()
		}
		fmt.Fprintf(&w.b, "</object>\n</object>\n")
	}
	fmt.Fprintf(&w.b, "</object>\n</topology>\n")
	return w.b.String()
}

// cpus is the cpuset of socket s, with 8 processors.
func cpus(s int) string { return fmt.Sprintf("0x%08x", 0xff<<(8*s)) }

type xmlWriter struct {
	b               strings.Builder
	bus, gpus, nics int
}

// open begins a bridge, which is a port of a switch or of a socket.
func (w *xmlWriter) open() {
	fmt.Fprintf(&w.b, "<object type=\"Bridge\" bridge_type=\"1-1\" pci_busid=\"0000:%02x:00.0\" pci_type=\"0604 [0000:0000]\">\n", w.bus)
	w.bus++
}

func (w *xmlWriter) close() { w.b.WriteString("</object>\n") }

// tree writes what is below a port: each child of a switch is at its own downstream port.
func (w *xmlWriter) tree(text string) {
	depth := 0 // of switches
	for _, c := range text {
		if c == ')' {
			w.close() // the upstream port
			depth--
		} else if depth > 0 {
			w.open() // a downstream port
		}
		switch c {
		case '(':
			w.open()
			depth++
			continue
		case 'G':
			w.device("0302", fmt.Sprintf("<object type=\"OSDev\" name=\"nvml%d\" osdev_type=\"5\"/>", w.gpus))
			w.gpus++
		case 'N':
			w.device("0207", fmt.Sprintf("<object type=\"OSDev\" name=\"mlx5_%d\" osdev_type=\"3\"/>", w.nics))
			w.nics++
		}
		if depth > 0 {
			w.close()
		}
	}
}

func (w *xmlWriter) device(class, inner string) {
	fmt.Fprintf(&w.b, "<object type=\"PCIDev\" pci_busid=\"0000:%02x:00.0\" pci_type=\"%s [0000:0000]\">%s</object>\n", w.bus, class, inner)
	w.bus++
}
