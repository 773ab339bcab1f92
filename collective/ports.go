package collective

import "fmt"

// maxPortNumber bounds the port numbers with an index in dense tables: InfiniBand
// switches have at most that many.
const maxPortNumber = 254

// numberPorts numbers the ports of the fabric's links consecutively, node by node.
func (n *network) numberPorts() {
	n.first = make([]int32, len(n.hops)+1)
	for node, hops := range n.hops {
		highest := 0
		for _, h := range hops {
			if h.port <= maxPortNumber {
				highest = max(highest, h.port)
			}
		}
		n.first[node+1] = n.first[node] + int32(highest)
	}
	n.hopOf = make([]int32, n.first[len(n.hops)])
	for node, hops := range n.hops {
		for i := len(hops) - 1; i >= 0; i-- { // the first of two hops with the same port wins
			if k := n.number(port{node, hops[i].port}); k >= 0 {
				n.hopOf[k] = int32(i) + 1
			}
		}
	}
}

// number is a port's index in dense tables; -1 if it has none.
func (n *network) number(p port) int {
	if p.node < 0 || p.node >= len(n.hops) || p.port < 1 || p.port > int(n.first[p.node+1]-n.first[p.node]) {
		return -1
	}
	return int(n.first[p.node]) + p.port - 1
}

// next is the hop through an egress port; ok is false if the fabric has none.
func (n *network) next(p port) (hop, bool) {
	if k := n.number(p); k >= 0 {
		if i := n.hopOf[k]; i > 0 {
			return n.hops[p.node][i-1], true
		}
		return hop{}, false
	}
	if p.node >= 0 && p.node < len(n.hops) && p.port > maxPortNumber {
		for _, h := range n.hops[p.node] {
			if h.port == p.port {
				return h, true
			}
		}
	}
	return hop{}, false
}

// portTable maps some ports of a network to values. Emptying it takes time proportional
// to the entries, so small runs in a large fabric stay cheap.
type portTable[T any] struct {
	net    *network
	place  []int32 // by the port's number: its index in list plus 1; 0: no entry
	beside map[port]int32
	list   []portEntry[T]
}

type portEntry[T any] struct {
	port
	value T
}

func (t *portTable[T]) find(p port) int32 {
	if k := t.net.number(p); k < 0 {
		return t.beside[p]
	} else if t.place != nil {
		return t.place[k]
	}
	return 0
}

// get returns the entry of a port; nil if there is none. It is valid until at is called.
func (t *portTable[T]) get(p port) *T {
	if i := t.find(p); i > 0 {
		return &t.list[i-1].value
	}
	return nil
}

// at returns the entry of a port, creating it if needed. It is valid until the next call.
func (t *portTable[T]) at(p port) *T {
	if found := t.get(p); found != nil {
		return found
	}
	t.list = append(t.list, portEntry[T]{port: p})
	i := int32(len(t.list))
	if k := t.net.number(p); k >= 0 {
		if t.place == nil {
			t.place = make([]int32, len(t.net.hopOf))
		}
		t.place[k] = i
	} else {
		if t.beside == nil {
			t.beside = map[port]int32{}
		}
		t.beside[p] = i
	}
	return &t.list[i-1].value
}

// empty removes all entries and keeps their memory.
func (t *portTable[T]) empty() {
	for _, e := range t.list {
		if k := t.net.number(e.port); k >= 0 {
			t.place[k] = 0
		}
	}
	clear(t.beside)
	clear(t.list)
	t.list = t.list[:0]
}

// observed is what a run's records say about one port.
type observed struct {
	reads     []*PortReport // by time
	intervals []interval    // in which PFC frames paused it
	signals   []int64       // times of telemetry signals that followed a pause of the port
}

// portWords are the texts that describe a port.
type portWords struct{ name, collision, shared, filled string }

// words returns a port's texts; they depend on the fabric only and are kept between runs.
func (n *network) words(p port) *portWords {
	w := n.called.at(p)
	if w.name == "" {
		w.name = fmt.Sprintf(portObject, n.nodeName(p.node), p.port)
		w.collision = "collision " + w.name
		w.shared = fmt.Sprintf("shares %s with the collective", w.name)
		w.filled = fmt.Sprintf("fills the queue at %s, from which pauses spread to the collective", w.name)
	}
	return w
}

func (n *network) nodeName(node int) string {
	if node < 0 || node >= len(n.Nodes) {
		return "?"
	}
	return n.Nodes[node].Name
}
