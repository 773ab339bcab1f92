package incident

import (
	"strconv"

	"github.com/giverny/giverny/collective/network"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// The fabric: leaves with hosts, each leaf connected to each spine. The first two hosts
// of a leaf belong to ranks, as far as there are ranks; the others are free.
const (
	hostsPerLeaf  = 4
	ranksPerLeaf  = 2
	leastSpines   = ranksPerLeaf * ranksPerLeaf // see usualSpine
	leastLeaves   = 4                           // see Incident.deadlock and Incident.pfcRoot
	bitsPerSecond = 25_000_000_000
	cableNanos    = 1000
)

// fabric is the leaf-spine fabric, both for the records and for the simulator. Nodes
// are numbered hosts first, then leaves, then spines, and named by number.
type fabric struct {
	ranks, leaves, spines int

	record   *network.Fabric
	graph    *topology.Graph
	channels *routing.Channels
}

func leafOf(host int) int       { return host / hostsPerLeaf }
func host(leaf, slot int) int   { return leaf*hostsPerLeaf + slot }
func rankHost(rank int) int     { return host(rank/ranksPerLeaf, rank%ranksPerLeaf) }
func nodeName(node int) string  { return strconv.Itoa(node) }
func leafDownPort(slot int) int { return slot + 1 }
func leafUpPort(spine int) int  { return hostsPerLeaf + spine + 1 }

func (f *fabric) numHosts() int           { return f.leaves * hostsPerLeaf }
func (f *fabric) leafNode(leaf int) int   { return f.numHosts() + leaf }
func (f *fabric) spineNode(spine int) int { return f.numHosts() + f.leaves + spine }

// portName formats a port as a culprit's place.
func portName(node, port int) string {
	return "switch " + nodeName(node) + " port " + strconv.Itoa(port)
}

func newFabric(ranks, leaves, spines int) (*fabric, error) {
	f := &fabric{ranks: ranks, leaves: leaves, spines: spines, record: &network.Fabric{}}
	b := topology.NewBuilder("collective")
	for node := range f.numHosts() + leaves + spines {
		d := topology.Device{Name: nodeName(node), Kind: topology.Host, Level: 0}
		if node >= f.numHosts() {
			d.Kind = topology.Switch
		}
		b.Device(d)
		f.record.Nodes = append(f.record.Nodes, network.Node{Name: d.Name, Switch: node >= f.numHosts()})
	}
	cable := func(a, aPort, z, zPort int) {
		b.Both(topology.Link{From: topology.DeviceID(a), To: topology.DeviceID(z), FromPort: strconv.Itoa(aPort), ToPort: strconv.Itoa(zPort)})
		f.record.Links = append(f.record.Links, network.Link{A: a, APort: aPort, B: z, BPort: zPort, BitsPerSecond: bitsPerSecond, DelayNanos: cableNanos})
	}
	for h := range f.numHosts() {
		cable(h, 1, f.leafNode(leafOf(h)), leafDownPort(h%hostsPerLeaf))
	}
	for leaf := range leaves {
		for spine := range spines {
			cable(f.leafNode(leaf), leafUpPort(spine), f.spineNode(spine), leaf+1)
		}
	}
	var err error
	if f.graph, err = b.Build(); err != nil {
		return nil, err
	}
	f.channels = routing.NewChannels(f.graph)
	return f, nil
}

// out returns the channel that leaves a port.
func (f *fabric) out(node, port int) routing.Channel {
	egress, _ := f.channels.Ports(topology.DeviceID(node), strconv.Itoa(port))
	return egress
}

// port returns the port that a channel leaves.
func (f *fabric) port(ch routing.Channel) (node, port int) {
	l := f.linkOf(ch)
	return l.A, l.APort
}

// inPort is the port through which a channel enters its switch.
func (f *fabric) inPort(ch routing.Channel) int { return f.linkOf(ch).BPort }

// linkOf returns the cable of a channel, oriented so that the channel leaves end A.
func (f *fabric) linkOf(ch routing.Channel) network.Link {
	from, _ := f.channels.Ends(ch)
	for _, l := range f.record.Links {
		if l.B == int(from) {
			l.A, l.APort, l.B, l.BPort = l.B, l.BPort, l.A, l.APort
		}
		if l.A == int(from) && f.out(l.A, l.APort) == ch {
			return l
		}
	}
	panic("simulate/incident: a channel without a cable") // newFabric makes every channel from one
}

// path returns the path between two hosts; spine is only used between different leaves.
func (f *fabric) path(from, to, spine int) []routing.Channel {
	if leafOf(from) == leafOf(to) {
		return f.through(from, to)
	}
	return f.through(from, to, f.leafNode(leafOf(from)), f.spineNode(spine), f.leafNode(leafOf(to)))
}

// through returns the path between two hosts over the given switches, or over their leaf.
func (f *fabric) through(from, to int, switches ...int) []routing.Channel {
	if len(switches) == 0 {
		switches = []int{f.leafNode(leafOf(from))}
	}
	path := []routing.Channel{f.out(from, 1)}
	for i, at := range switches {
		switch {
		case i == len(switches)-1:
			path = append(path, f.out(at, leafDownPort(to%hostsPerLeaf)))
		case at < f.spineNode(0):
			path = append(path, f.out(at, leafUpPort(switches[i+1]-f.spineNode(0))))
		default:
			path = append(path, f.out(at, switches[i+1]-f.numHosts()+1))
		}
	}
	return path
}
