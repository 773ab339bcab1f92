package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// mostHotLinks is how many hot links in no region are named: enough to act on, few enough to read.
const mostHotLinks = 5

// hotLink is a link that stalls for schema.LowPercent or more and is in no region at Low or above: a single hot cable is
// no region.
type hotLink struct {
	Metric  schema.Metric `json:"metric"`
	Link    schema.LinkID `json:"link"`
	Device  string        `json:"device"`
	Port    string        `json:"port"`
	Peer    string        `json:"peer"` // what the link feeds
	Percent float64       `json:"percent"`
}

// hotOutside returns the hot links of an interval that are in none of its regions, with the metric by which each stalls
// most, the hottest first.
func hotOutside(g *topology.Graph, snap *schema.Snapshot, regions []schema.Region) []hotLink {
	inside := map[schema.LinkID]bool{}
	for i := range regions {
		for _, l := range regions[i].Links {
			inside[l] = inside[l] || regions[i].Severity > schema.Negligible
		}
	}
	worst := map[schema.LinkID]hotLink{}
	for _, s := range snap.Series {
		if !s.Metric.IsStall() {
			continue
		}
		for i, v := range s.Values {
			id, percent := schema.LinkID(i), float64(v)
			if percent >= schema.LowPercent && percent > worst[id].Percent && s.Valid.Has(i) && !inside[id] {
				worst[id] = hotLink{Metric: s.Metric, Link: id, Percent: percent}
			}
		}
	}
	found := slices.SortedFunc(maps.Values(worst), func(a, b hotLink) int {
		return cmp.Or(cmp.Compare(b.Percent, a.Percent), cmp.Compare(a.Link, b.Link))
	})
	for i := range found {
		l := g.Link(found[i].Link)
		found[i].Device, found[i].Port, found[i].Peer = g.Device(l.From).Name, l.FromPort, g.Device(l.To).Name
	}
	return found
}

// hotStory sums up hot links over intervals.
type hotStory struct {
	intervals int
	links     map[schema.LinkID]*hotHistory
}

// hotHistory is how a link stalled in the intervals in which it was hot and in no region.
type hotHistory struct {
	worst     hotLink
	intervals int
	sum       float64 // percent
}

func (h *hotStory) add(found []hotLink) {
	h.intervals++
	for _, l := range found {
		of := h.links[l.Link]
		if of == nil {
			of = &hotHistory{}
			h.links[l.Link] = of
		}
		of.intervals++
		of.sum += l.Percent
		if l.Percent > of.worst.Percent {
			of.worst = l
		}
	}
}

// print lists the links that stalled most in all.
func (h *hotStory) print(w io.Writer) {
	if len(h.links) == 0 {
		fmt.Fprintf(w, "No link stalls for %d%% or more of an interval.\n", schema.LowPercent)
		return
	}
	found := slices.SortedFunc(maps.Values(h.links), func(a, b *hotHistory) int {
		return cmp.Or(cmp.Compare(b.sum, a.sum), cmp.Compare(a.worst.Link, b.worst.Link))
	})
	fmt.Fprintf(w, "%s for %d%% or more of an interval, in no region; the hottest:\n", plural.Count(len(found), "link stalls", "links stall"), schema.LowPercent)
	for _, l := range found[:min(len(found), mostHotLinks)] {
		fmt.Fprintf(w, "  %s to %s: %s of %.1f%% on average in %d of %s, at most %.1f%%\n",
			schema.OneLine(topology.PortName(l.worst.Device, l.worst.Port)), schema.OneLine(topology.PortName(l.worst.Peer, "")), l.worst.Metric,
			l.sum/float64(l.intervals), l.intervals, plural.Count(h.intervals, "interval", "intervals"), l.worst.Percent)
	}
}

// printStored lists the links that stalled most in a span of the store without regions.
func printStored(w io.Writer, links []app.StoredLink) {
	for i, l := range links {
		if i == 0 {
			fmt.Fprintln(w, "The links that stalled most, in no region:")
		}
		fmt.Fprintf(w, "  %s: %s of %.1f%% on average, at most %.1f%%\n", schema.OneLine(l.Name), l.Metric, l.Mean, l.Max)
	}
}
