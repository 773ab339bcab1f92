package linkscsv

import (
	"fmt"

	"github.com/giverny/giverny/schema"
)

// portLink returns the link that leaves the port of a row.
func (t *table) portLink(device, port string) (schema.LinkID, error) {
	d, ok := t.graph.FindDevice(device)
	if !ok {
		return 0, fmt.Errorf("device %q: the fabric has none of this name; %s", device, t.graph.Hint(device))
	}
	links, ok := t.graph.PortAt(d, port)
	if !ok || links.Egress == schema.NoLink {
		at := t.graph.LinksAt(d)
		if len(at) == 0 {
			return 0, fmt.Errorf("port %q of %q: no link leaves it; this device has no cables in the topology", port, device)
		}
		example := t.graph.Link(at[0])
		name := example.FromPort
		if example.To == d {
			name = example.ToPort
		}
		return 0, fmt.Errorf("port %q of %q: no link leaves it; ports of this device are named like %q", port, device, name)
	}
	return links.Egress, nil
}
