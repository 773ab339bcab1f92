package segment

import (
	"fmt"
	"math"
	"slices"

	"github.com/giverny/giverny/internal/codec"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

var memoryFormat = codec.Format{Mark: "GMEM", Version: 2, Oldest: 1}

// Save encodes the state for Load.
func (m *Memory) Save() []byte { return memoryFormat.Seal(m.code) }

// Load restores a state saved under the same version of the fabric. It fails without changes if the data is damaged, of a later
// format or of another version.
func (m *Memory) Load(saved []byte) error {
	loaded := Memory{graph: m.graph}
	if err := memoryFormat.Open(saved, loaded.code); err != nil {
		return fmt.Errorf("segment: load the regions of fabric %s: %w", m.graph.Fabric(), err)
	}
	m.past = loaded.past
	return nil
}

func (m *Memory) code(c *codec.Coder) {
	fabric, version := m.graph.Fabric(), m.graph.Version()
	c.Text(&fabric)
	c.Uint(&version, math.MaxUint64)
	if !c.Failed() && (fabric != m.graph.Fabric() || version != m.graph.Version()) {
		c.Damaged("it belongs to version %016x of fabric %q", version, fabric)
	}
	codec.Each(c, &m.past, func(_ int, p *remembered) {
		name := p.metric.String()
		if c.Text(&name); c.Reading() && !c.Failed() {
			var err error
			if p.metric, err = schema.ParseMetric(name); err != nil {
				c.Damaged("%v", err)
			}
		}
		codec.Ascending(c, &p.links, m.graph.NumLinks())
		m.codeRoot(c, &p.root)
		if c.Version() > 1 {
			codec.Each(c, &p.last, func(_ int, s *lastStall) {
				codec.Small(c, &s.link, uint64(m.graph.NumLinks()))
				c.Float(&s.percent)
			})
		}
	})
}

func (m *Memory) codeRoot(c *codec.Coder, root **schema.Root) {
	known := *root != nil
	if c.Bool(&known); !known {
		return
	}
	if c.Reading() {
		*root = &schema.Root{}
	}
	r := *root
	c.Text(&r.Device)
	c.Text(&r.Port)
	c.Text(&r.Peer)
	*root = m.port(r)
}

// SetGraph switches to another version of the fabric: moved has each link's new number, or schema.NoLink if it is gone.
func (m *Memory) SetGraph(g *topology.Graph, moved []schema.LinkID) {
	past := m.past
	m.graph, m.past, m.boxes = g, nil, newBoxer(g)
	m.taken, m.values, m.owner = make([]bool, g.NumLinks()), make([]float32, g.NumLinks()), make([]int32, g.NumLinks())
	for _, p := range past {
		if p.links = topology.Renumber(p.links, moved); len(p.links) > 0 {
			p.root = m.port(p.root)
			p.last = slices.DeleteFunc(p.last, func(s lastStall) bool { return moved[s.link] == schema.NoLink })
			for i := range p.last {
				p.last[i].link = moved[p.last[i].link]
			}
			m.past = append(m.past, p)
		}
	}
}
