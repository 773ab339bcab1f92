package topology

import (
	"encoding/json"
	"fmt"
	"io"
)

type netqGraph struct {
	Links []struct {
		Compounded []netqLink `json:"compounded_links"`
	} `json:"links"`
	Nodes []struct {
		Compounded []netqNode `json:"compounded_nodes"`
	} `json:"nodes"`
}

type netqLink struct {
	ID         string `json:"id"`
	Interfaces []struct {
		Interface string `json:"interface"`
		Node      string `json:"node"`
	} `json:"interfaces"`
}

// ends returns the two ends of a link between known nodes.
func (l *netqLink) ends(c *cableList, known map[string]bool) (a, b cableEnd, err error) {
	if len(l.Interfaces) != 2 {
		return a, b, fmt.Errorf("has %d interfaces, want 2", len(l.Interfaces))
	}
	for i, end := range []*cableEnd{&a, &b} {
		in := &l.Interfaces[i]
		if !known[in.Node] {
			return a, b, fmt.Errorf("leads to node %q, which is not listed under nodes", in.Node)
		}
		*end = cableEnd{c.byGUID[in.Node], in.Interface}
	}
	return a, b, nil
}

type netqNode struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	DeviceType string `json:"device_type"`
	Tier       int    `json:"tier"`
}

// ReadNetQ reads the topology graph returned by NVIDIA NetQ's API: an Ethernet fabric
// as discovered by LLDP. Anything that is not a switch is a host.
func ReadNetQ(r io.Reader, name, fabric string, prev *Graph) (*Graph, []string, error) {
	var graphs []netqGraph
	if err := json.NewDecoder(r).Decode(&graphs); err != nil {
		return nil, nil, fmt.Errorf("%s: not NetQ's topology graph (a JSON list): %w", name, err)
	}
	c := newCableList(fabric, prev)
	known := map[string]bool{}
	for _, g := range graphs {
		for _, tier := range g.Nodes {
			for _, n := range tier.Compounded {
				node := c.node(n.ID, n.DeviceType == "switch")
				node.label = n.Name
				known[n.ID] = true
			}
		}
	}
	cable := 0
	for _, g := range graphs {
		for _, l := range g.Links {
			for _, w := range l.Compounded {
				cable++
				a, b, err := w.ends(c, known)
				if err != nil {
					return nil, nil, fmt.Errorf("%s: link %q %w", name, w.ID, err)
				}
				c.end(a, b, 0, cable) // NetQ gives no speeds
			}
		}
	}
	g, err := c.build()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return g, c.warnings, nil
}
