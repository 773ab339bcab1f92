// Package hotlinks finds the links of an interval that stall but are in no region, such as a single hot cable. Snapshots
// and their regions go in; links come out, the hottest first, and a text of those that stalled most over many intervals.
package hotlinks

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Named is how many are named: enough to act on, few enough to read.
const Named = 5

// Link is a link that stalls for schema.LowPercent or more and is in no region at Low or above: a single hot cable is
// no region.
type Link struct {
	Metric  schema.Metric `json:"metric"`
	Link    schema.LinkID `json:"link"`
	Device  string        `json:"device"`
	Port    string        `json:"port"`
	Peer    string        `json:"peer"` // what the link feeds
	Percent float64       `json:"percent"`
}

// Outside returns the hot links of an interval that are in none of its regions, with the metric by which each stalls
// most, the hottest first.
func Outside(g *topology.Graph, snap *schema.Snapshot, regions []schema.Region) []Link {
	inside := map[schema.LinkID]bool{}
	for i := range regions {
		for _, l := range regions[i].Links {
			inside[l] = inside[l] || regions[i].Severity > schema.Negligible
		}
	}
	worst := map[schema.LinkID]Link{}
	for _, s := range snap.Series {
		if !s.Metric.IsStall() {
			continue
		}
		for i, v := range s.Values {
			id, percent := schema.LinkID(i), float64(v)
			if percent >= schema.LowPercent && percent > worst[id].Percent && s.Valid.Has(i) && !inside[id] {
				worst[id] = Link{Metric: s.Metric, Link: id, Percent: percent}
			}
		}
	}
	found := slices.SortedFunc(maps.Values(worst), func(a, b Link) int {
		return cmp.Or(cmp.Compare(b.Percent, a.Percent), cmp.Compare(a.Link, b.Link))
	})
	for i := range found {
		l := g.Link(found[i].Link)
		found[i].Device, found[i].Port, found[i].Peer = g.Device(l.From).Name, l.FromPort, g.Device(l.To).Name
	}
	return found
}

// History sums up hot links over intervals.
type History struct {
	intervals int
	links     map[schema.LinkID]*history
}

// NewHistory returns one of no interval.
func NewHistory() *History { return &History{links: map[schema.LinkID]*history{}} }

// history is how a link stalled in the intervals in which it was hot and in no region.
type history struct {
	worst     Link
	intervals int
	sum       float64 // percent
}

// Add adds the hot links of an interval.
func (h *History) Add(found []Link) {
	h.intervals++
	for _, l := range found {
		of := h.links[l.Link]
		if of == nil {
			of = &history{}
			h.links[l.Link] = of
		}
		of.intervals++
		of.sum += l.Percent
		if l.Percent > of.worst.Percent {
			of.worst = l
		}
	}
}

// Print lists the links that stalled most in all.
func (h *History) Print(w io.Writer) {
	if len(h.links) == 0 {
		fmt.Fprintf(w, "No link stalls for %d%% or more of an interval.\n", schema.LowPercent)
		return
	}
	found := slices.SortedFunc(maps.Values(h.links), func(a, b *history) int {
		return cmp.Or(cmp.Compare(b.sum, a.sum), cmp.Compare(a.worst.Link, b.worst.Link))
	})
	fmt.Fprintf(w, "%s for %d%% or more of an interval, in no region; the hottest:\n", plural.Count(len(found), "link stalls", "links stall"), schema.LowPercent)
	for _, l := range found[:min(len(found), Named)] {
		fmt.Fprintf(w, "  %s to %s: %s of %.1f%% on average in %d of %s, at most %.1f%%\n",
			schema.OneLine(topology.PortName(l.worst.Device, l.worst.Port)), schema.OneLine(topology.PortName(l.worst.Peer, "")), l.worst.Metric,
			l.sum/float64(l.intervals), l.intervals, plural.Count(h.intervals, "interval", "intervals"), l.worst.Percent)
	}
}
