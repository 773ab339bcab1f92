package hostping

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// machine is a reader's result, before it becomes a graph.
type machine struct {
	product string // product name; empty if not in the file
	sockets []socket
	buses   [][2]int // between sockets, by index
	assumed []string
}

// connectAll adds a bus between any two sockets; why there is nothing better to go by is an assumption.
func (m *machine) connectAll(why string) {
	for a := range m.sockets {
		for b := range a {
			m.buses = append(m.buses, [2]int{b, a})
		}
	}
	if len(m.sockets) > 1 {
		m.assumed = append(m.assumed, "all sockets are connected directly: "+why)
	}
}

// socket is a vertex: processors that share NUMA nodes and root ports.
type socket struct {
	memory []int      // NUMA node numbers
	ports  []*pciNode // what is connected to each root port
}

// pciNode is a switch with children, or a device: then it has the device's functions, which share its link.
type pciNode struct {
	name     string // of a switch, such as its bus id
	children []*pciNode
	devices  []device
}

// device is a GPU or an RNIC.
type device struct {
	id  string
	gpu bool
}

// maxDevices bounds a graph, which has a path for each RNIC and endpoint.
const maxDevices = 1024

// prune drops nodes without devices below, and merges consecutive links, which no probe can separate: a switch with a
// single port in use is not a vertex. It returns nil if nothing is left.
func prune(n *pciNode) *pciNode {
	if len(n.devices) > 0 {
		return n
	}
	kept := n.children[:0]
	for _, child := range n.children {
		if child = prune(child); child != nil {
			kept = append(kept, child)
		}
	}
	n.children = kept
	switch len(kept) {
	case 0:
		return nil
	case 1:
		return kept[0]
	}
	return n
}

// graph numbers the links and computes the paths.
func (m *machine) graph() (Graph, error) {
	b := &builder{g: Graph{Endpoints: []Endpoint{}, RNICs: []RNIC{}, Links: []Link{}, Paths: []Path{}, Affinitive: map[string][]string{}, Assumed: m.assumed}, places: map[string]place{}}
	if b.g.Assumed == nil {
		b.g.Assumed = []string{}
	}
	if len(m.sockets) == 0 {
		return b.g, fmt.Errorf("no socket and no memory node found")
	}
	for s := range m.sockets {
		for _, port := range m.sockets[s].ports {
			if port = prune(port); port != nil {
				if err := b.tree(port, s, nil, len(b.roots)); err != nil {
					return b.g, err
				}
				b.roots = append(b.roots, port)
			}
		}
	}
	for s := range m.sockets {
		for _, n := range m.sockets[s].memory {
			id := "numa" + strconv.Itoa(n)
			link := b.link("memory:"+id, socketName(s), id, Memory)
			if err := b.place(id, place{socket: s, root: -1, up: []string{link}}, Memory); err != nil {
				return b.g, err
			}
		}
	}
	b.routes(m)
	slices.SortFunc(b.g.Endpoints, func(x, y Endpoint) int { return cmp.Or(cmp.Compare(x.Kind, y.Kind), natural(x.ID, y.ID)) })
	slices.SortFunc(b.g.RNICs, func(x, y RNIC) int { return natural(x.ID, y.ID) })
	b.paths()
	b.g.Model = modelOf(m.product, len(m.sockets), &b.g)
	return b.g, nil
}

// place is where an endpoint or RNIC is attached: the links up to its socket, and their root port.
type place struct {
	socket, root int
	up           []string
}

type builder struct {
	g      Graph
	places map[string]place
	roots  []*pciNode
	route  [][][]string // links between two sockets
}

func socketName(s int) string { return "socket" + strconv.Itoa(s) }

func (b *builder) link(id, upper, lower string, kind Kind) string {
	b.g.Links = append(b.g.Links, Link{ID: id, A: upper, B: lower, Kind: kind})
	return id
}

// place registers an endpoint, or an RNIC if kind is empty.
func (b *builder) place(id string, at place, kind Kind) error {
	if _, ok := b.places[id]; ok {
		return fmt.Errorf("%s is duplicated", id)
	}
	if len(b.places) == maxDevices {
		return fmt.Errorf("more than %d GPUs, RNICs and memory nodes", maxDevices)
	}
	b.places[id] = at
	if kind == "" {
		b.g.RNICs = append(b.g.RNICs, RNIC{ID: id})
	} else {
		b.g.Endpoints = append(b.g.Endpoints, Endpoint{ID: id, Kind: kind})
	}
	return nil
}

// tree adds the links of a switch or device and everything below; above are the links from its upper end to the socket.
func (b *builder) tree(n *pciNode, s int, above []string, root int) error {
	name, kind, upper := b.nameOf(n), PCIe, socketName(s)
	if len(above) == 0 {
		kind = RootPort
	} else {
		upper = strings.TrimPrefix(above[0], "pci:")
	}
	up := slices.Concat([]string{b.link("pci:"+name, upper, name, kind)}, above)
	for _, d := range n.devices {
		kind := GPU
		if !d.gpu {
			kind = ""
		}
		if err := b.place(d.id, place{socket: s, root: root, up: up}, kind); err != nil {
			return err
		}
	}
	for _, child := range n.children {
		if err := b.tree(child, s, up, root); err != nil {
			return err
		}
	}
	return nil
}

// nameOf names a device or switch: a switch by its bus id or, if the file has none, by the first device below it.
func (b *builder) nameOf(n *pciNode) string {
	if len(n.devices) > 0 {
		return n.devices[0].id
	}
	name := n.name
	if strings.HasSuffix(name, "-") {
		first := n
		for len(first.devices) == 0 {
			first = first.children[0] // prune leaves no switch without devices
		}
		name += first.devices[0].id
	}
	for taken := name; ; taken += "-below" {
		if !slices.ContainsFunc(b.g.Links, func(l Link) bool { return l.B == taken }) {
			return taken
		}
	}
}

// routes adds the buses and computes the shortest routes between sockets.
func (b *builder) routes(m *machine) {
	n := len(m.sockets)
	next := make([][]string, n) // next[s][t]: the bus between neighbours
	for s := range next {
		next[s] = make([]string, n)
	}
	for _, bus := range m.buses {
		a, z := min(bus[0], bus[1]), max(bus[0], bus[1])
		if a == z || next[a][z] != "" {
			continue
		}
		id := b.link("bus:"+socketName(a)+"-"+socketName(z), socketName(a), socketName(z), InterSocket)
		next[a][z], next[z][a] = id, id
	}
	b.route = make([][][]string, n)
	for s := range b.route {
		b.route[s] = make([][]string, n)
		queue, seen := []int{s}, make([]bool, n)
		seen[s] = true
		for len(queue) > 0 {
			at := queue[0]
			queue = queue[1:]
			for t := range n {
				if next[at][t] != "" && !seen[t] {
					seen[t] = true
					b.route[s][t] = append(slices.Clone(b.route[s][at]), next[at][t])
					queue = append(queue, t)
				}
			}
		}
	}
}

// paths fills in Paths and Affinitive. Only a baseline shows which memory reaches line rate; until then all memory
// counts, as on the paper's hosts (section 4.3, footnote 5).
func (b *builder) paths() {
	for _, r := range b.g.RNICs {
		from := b.places[r.ID]
		near := []string{}
		for _, e := range b.g.Endpoints {
			to := b.places[e.ID]
			b.g.Paths = append(b.g.Paths, Path{Pair: Pair{RNIC: r.ID, Endpoint: e.ID}, Links: b.between(from, to)})
			if e.Kind == Memory || from.root == to.root {
				near = append(near, e.ID)
			}
		}
		b.g.Affinitive[r.ID] = near
	}
}

// between returns the links of a path: below one root port, only up to the first common switch.
func (b *builder) between(from, to place) []string {
	up, down := from.up, slices.Clone(to.up)
	slices.Reverse(down)
	if from.root == to.root { // never for memory, whose root is -1
		own := func(links, other []string) []string {
			return slices.DeleteFunc(slices.Clone(links), func(l string) bool { return slices.Contains(other, l) })
		}
		if links := slices.Concat(own(up, down), own(down, up)); len(links) > 0 {
			return links
		}
		return up[:1] // functions of one card, over their shared link
	}
	return slices.Concat(up, b.route[from.socket][to.socket], down)
}

// natural orders mlx5_2 before mlx5_10.
func natural(a, b string) int {
	cut := func(s string) (string, int) {
		head := strings.TrimRight(s, "0123456789")
		n, _ := strconv.Atoi(s[len(head):])
		return head, n
	}
	ha, na := cut(a)
	hb, nb := cut(b)
	return cmp.Or(cmp.Compare(ha, hb), cmp.Compare(na, nb), cmp.Compare(a, b))
}

// modelOf names a product and its structure, independent of bus numbering.
func modelOf(product string, sockets int, g *Graph) string {
	structure := fnv.New32a()
	numbers := map[string]int{}
	kinds := map[string]Kind{}
	for _, l := range g.Links {
		kinds[l.ID] = l.Kind
	}
	for _, p := range g.Paths {
		fmt.Fprint(structure, p.RNIC, " ", p.Endpoint)
		for _, l := range p.Links {
			if _, ok := numbers[l]; !ok {
				numbers[l] = len(numbers)
			}
			fmt.Fprint(structure, " ", kinds[l], numbers[l])
		}
	}
	gpus := 0
	for _, e := range g.Endpoints {
		if e.Kind == GPU {
			gpus++
		}
	}
	return fmt.Sprintf("%s #%d sockets, %d memory nodes, %d GPUs, %d RNICs, %08x", cmp.Or(product, "unknown make"), sockets, len(g.Endpoints)-gpus, gpus, len(g.RNICs), structure.Sum32())
}
