package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// cableList collects the cables found by a discovery, each from one end or both, and
// builds a graph of directed links from them.
type cableList struct {
	fabric string
	prev   *Graph
	nodes  []*cableNode // in order of appearance
	byGUID map[string]*cableNode
	ends   []cableLine
	from   map[cableEnd]int // into ends

	warnings []string
}

type cableNode struct {
	guid     string
	label    string
	isSwitch bool
	listed   bool     // it has its own record, and is not only another's peer
	id       DeviceID // set by build
}

type cableEnd struct {
	node *cableNode
	port string
}

type cableLine struct {
	from, to cableEnd
	capacity float64
	line     int
}

func newCableList(fabric string, prev *Graph) *cableList {
	return &cableList{fabric: cmp.Or(fabric, DefaultFabric), prev: prev, byGUID: map[string]*cableNode{}, from: map[cableEnd]int{}}
}

func (c *cableList) node(guid string, isSwitch bool) *cableNode {
	guid = strings.ToValidUTF8(guid, "\uFFFD")
	n := c.byGUID[guid]
	if n == nil {
		n = &cableNode{guid: strings.Clone(guid), isSwitch: isSwitch}
		c.byGUID[n.guid] = n
		c.nodes = append(c.nodes, n)
	}
	return n
}

// end records that the port from leads to the port to, according to a line.
func (c *cableList) end(from, to cableEnd, capacity float64, line int) {
	from.port, to.port = strings.Clone(strings.ToValidUTF8(from.port, "\uFFFD")), strings.Clone(strings.ToValidUTF8(to.port, "\uFFFD"))
	if i, twice := c.from[from]; twice {
		if c.ends[i].to != to {
			c.contradict(cableLine{from, to, capacity, line}, c.ends[i])
		}
		return
	}
	c.from[from] = len(c.ends)
	c.ends = append(c.ends, cableLine{from, to, capacity, line})
}

func (c *cableList) contradict(l, other cableLine) {
	c.warnings = append(c.warnings, fmt.Sprintf("left out: line %d says that %s leads to %s, line %d that %s leads to %s",
		l.line, l.from, l.to, other.line, other.from, other.to))
}

func (e cableEnd) String() string { return fmt.Sprintf("port %s of %q", e.port, e.node.name()) }

// name is the node's description, or its GUID. Descriptions are arbitrary bytes from
// firmware; invalid UTF-8 is replaced, since it cannot be stored.
func (n *cableNode) name() string {
	if label := strings.TrimSpace(strings.ToValidUTF8(n.label, "\uFFFD")); label != "" {
		return label
	}
	return n.guid
}

// complete adds the missing ends and omits contradictory ones. One cable that was moved
// during the discovery, or one GUID claimed by two devices, must not invalidate the
// fabric; if many are contradictory, the input is rejected.
func (c *cableList) complete() error {
	kept := c.ends[:0:0]
	for _, l := range c.ends {
		back, known := c.from[l.to]
		switch {
		case l.from == l.to || known && c.ends[back].to != l.from:
			if !known {
				back = c.from[l.from]
			}
			c.contradict(l, c.ends[back])
		case known:
			kept = append(kept, l)
		default:
			kept = append(kept, l, cableLine{l.to, l.from, l.capacity, l.line})
		}
	}
	if len(c.warnings) > 1 && len(c.warnings) > len(kept)/10 {
		return fmt.Errorf("%d cables have ends that disagree; check that this is the output of one run on one fabric. First: %s", len(c.warnings), c.warnings[0])
	}
	c.ends = kept
	return nil
}

// checkListed rejects a discovery in which most devices only occur as peers, without
// their own record: the file was truncated.
func (c *cableList) checkListed() error {
	missing, first := c.unlisted()
	if len(c.nodes) < fewNodes || missing <= len(c.nodes)/2 {
		return nil
	}
	return fmt.Errorf("%d of %d devices are named as peers and have no record of their own, the first: %q; the file is truncated: run the discovery again", missing, len(c.nodes), first)
}

// warnUnlisted warns if a part of an input may be missing.
func (c *cableList) warnUnlisted() {
	if missing, first := c.unlisted(); missing > 0 {
		c.warnings = append(c.warnings, fmt.Sprintf("%d of %d devices are named as peers and have no record of their own, the first: %q; if the file is truncated, other devices are missing too", missing, len(c.nodes), first))
	}
}

// unlisted counts the devices that only occur as peers, and names the first.
func (c *cableList) unlisted() (n int, first string) {
	for _, node := range c.nodes {
		if !node.listed {
			if n++; n == 1 {
				first = node.name()
			}
		}
	}
	return n, first
}

// fewNodes is up to how many nodes an input may be a manual extract.
const fewNodes = 8

func (c *cableList) build() (*Graph, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	c.sort()
	b := NewBuilder(c.fabric)
	if c.prev != nil {
		b = NewVersion(c.prev)
	}
	names := c.names()
	for i, n := range c.nodes {
		kind := Host
		if n.isSwitch {
			kind = Switch
		}
		n.id = b.Device(Device{Name: names[i], Kind: kind, GUID: n.guid, Label: n.name(), Level: -1, Group: -1})
	}
	for _, l := range c.ends {
		class := ClassHost
		if l.from.node.isSwitch && l.to.node.isSwitch {
			class = ClassSwitch
		}
		b.Link(Link{From: l.from.node.id, FromPort: l.from.port, To: l.to.node.id, ToPort: l.to.port,
			CapacityBytesPerSecond: l.capacity, Class: class, Dim: -1})
	}
	b.setLevels()
	return b.Build()
}

// sort orders devices by GUID and links by the ports that they leave, since the order
// in which a discovery lists a fabric depends on where it starts and on which answer
// came first.
func (c *cableList) sort() {
	slices.SortFunc(c.nodes, func(a, b *cableNode) int { return strings.Compare(a.guid, b.guid) })
	slices.SortFunc(c.ends, func(a, b cableLine) int {
		return cmp.Or(strings.Compare(a.from.node.guid, b.from.node.guid), comparePorts(a.from.port, b.from.port))
	})
}

// comparePorts orders "2" before "10" and "swp9" before "swp10".
func comparePorts(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) }

// names gives each node a unique name: that of the earlier graph, otherwise its
// description or, if several share it, the description and the GUID.
func (c *cableList) names() []string {
	users := map[string]int{}
	for _, n := range c.nodes {
		users[n.name()]++
	}
	names := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		names[i] = n.name()
		if users[names[i]] > 1 {
			names[i] += " " + n.guid
		}
		if c.prev == nil {
			continue
		}
		if d, known := c.prev.byGUID[n.guid]; known {
			names[i] = c.prev.devices[d].Name
		} else if _, taken := c.prev.byName[names[i]]; taken {
			names[i] = n.name() + " " + n.guid
		}
	}
	return names
}
