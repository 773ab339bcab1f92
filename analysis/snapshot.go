package analysis

import (
	"fmt"

	"github.com/giverny/giverny/schema"
)

// Analyse analyses a snapshot that was made elsewhere, for example from a table of links, like one of the window.
// The feeds' rows up to its end are emitted with it.
func (c *Core) Analyse(snap *schema.Snapshot) (*schema.IntervalResult, error) {
	if snap.GraphVersion != c.graph.Version() || snap.Links != c.graph.NumLinks() {
		return nil, fmt.Errorf("snapshot of %d links for fabric %q: the topology does not match the data: it has %d", snap.Links, c.graph.Fabric(), c.graph.NumLinks())
	}
	if snap.Interval.StartNanos < c.lastEnd {
		return nil, fmt.Errorf("snapshot of %s for fabric %q begins before the previous one ends", snap.Interval, c.graph.Fabric())
	}
	return c.analyse(snap, nil), nil
}
