package network

// Fabric is the network between the ranks of a run, as recorded.
type Fabric struct {
	Nodes []Node
	Links []Link
}

// Node is a host or a switch.
type Node struct {
	Name   string
	Switch bool
}

// Link connects port APort of node A and port BPort of node B, in both directions.
type Link struct {
	A, B          int // indices in Fabric.Nodes
	APort, BPort  int // from 1
	BitsPerSecond int64
	DelayNanos    int64
	ErrorRate     float64 // packets lost, 0 to 1
}

// Port is an egress port of a node.
type Port struct {
	Node int // index in Fabric.Nodes
	Port int // from 1
}

// ComparePorts orders ports by node, then by number.
func ComparePorts(a, b Port) int {
	if a.Node != b.Node {
		return a.Node - b.Node
	}
	return a.Port - b.Port
}
