package bench

import (
	"cmp"
	"slices"
	"strings"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
	"github.com/giverny/giverny/topology"
)

// Truth is the ground truth for a verdict on one region. Where the flows are ambiguous there are several right answers.
type Truth struct {
	Scored  bool                // the region has enough real congestion to have a cause
	Classes []schema.CauseClass // right answers
	Jobs    []string            // right answers for the job most to blame; empty if none in the job table is
	Roots   []Place             // right answers; empty: not scored
	Object  string              // what failed or is slow, for display
	Share   float64             // share of the region's stalled links that the main cause explains
}

// Place is a port, or a device if Port is empty.
type Place struct{ Device, Port string }

// Thresholds of the ground truth.
const (
	leastStalled  = .3  // share of a region's links that must really stall; otherwise the region is noise
	oneCause      = .7  // share of the stalled links; below it, "unknown" (two causes at once) is also right
	halfCause     = .5  // share up to which the second cause is also right
	culpritShare  = .25 // share of the traffic offered to a root from which on a job is a right answer
	mainCulprit   = .5  // a job with this share that is missing from the job table makes "unknown" right
	ownWay        = .9  // share of the traffic waiting on the region's links: a job with more congests itself
	othersWay     = .7  // with less, it congests others; in between, both answers are right
	alikeRoot     = .5  // share of the leading root's stall from which on another root is also right
	leadRootShare = .4  // share of the region's stall that the right roots must cause together to be scored
)

// truthOf derives the ground truth of a region.
func (p *play) truthOf(t *scenario.Truth, region *schema.Region) Truth {
	links := linksOf(t, region)
	votes := map[int]int{}
	for _, l := range links {
		votes[l.Cause]++
	}
	order := byCount(votes)
	if len(links) == 0 || float64(len(links)) < leastStalled*float64(len(region.Links)) {
		return Truth{}
	}
	truth := Truth{Scored: true, Share: float64(votes[order[0]]) / float64(len(links)), Object: t.Causes[order[0]].Object}
	p.answer(&truth, t, order[0], links)
	if truth.Share < oneCause {
		truth.Also(schema.CauseUnknown)
	}
	if truth.Share <= halfCause && len(order) > 1 {
		p.answer(&truth, t, order[1], links)
	}
	truth.findRoots(p.incident.graph, t, links)
	return truth
}

// linksOf returns the region's links that really stall and whose cause is known.
func linksOf(t *scenario.Truth, region *schema.Region) (links []scenario.LinkTruth) {
	for _, id := range region.Links {
		at, found := slices.BinarySearchFunc(t.Links, id, func(x scenario.LinkTruth, l schema.LinkID) int { return cmp.Compare(x.Link, l) })
		if found && t.Links[at].Cause >= 0 {
			links = append(links, t.Links[at])
		}
	}
	return links
}

// Also adds a right class.
func (t *Truth) Also(c schema.CauseClass) {
	if !slices.Contains(t.Classes, c) {
		t.Classes = append(t.Classes, c)
	}
}

// answer adds the right answers for one cause.
func (p *play) answer(t *Truth, truth *scenario.Truth, cause int, links []scenario.LinkTruth) {
	c := &truth.Causes[cause]
	switch c.Class {
	case scenario.SlowHostCause:
		t.Also(schema.CauseSlowHost)
		return
	case scenario.FailureCause:
		if t.Also(schema.CauseFailure); p.incident.Kind == SlowLink { // host and link are both right
			t.Also(schema.CauseSlowHost)
		}
		return
	}
	known, mainMissing := 0, false
	for i, id := range c.Jobs {
		switch {
		case c.Shares[i] < culpritShare && i > 0:
		case !p.table[id]:
			mainMissing = mainMissing || c.Shares[i] >= mainCulprit || i == 0
		default:
			known++
			t.Jobs = append(t.Jobs, id)
		}
	}
	if mainMissing {
		t.Also(schema.CauseUnknown)
	}
	if known == 0 {
		return
	}
	own := ownShare(c, cause, links)
	if c.Pattern == scenario.ReadFS || c.Pattern == scenario.WriteFS || own <= othersWay {
		t.Also(schema.CauseSystem)
		return
	}
	if own < ownWay || len(c.Jobs) > 1 {
		t.Also(schema.CauseSystem)
	}
	t.Also(schema.CauseIntraApplication)
}

// ownShare is the share of the first job in the traffic that waits on the links of a cause: its share of the traffic offered to
// each link, weighted by the link's stall.
func ownShare(c *scenario.Cause, cause int, links []scenario.LinkTruth) float64 {
	own, all := 0., 0.
	for _, l := range links {
		if l.Cause != cause {
			continue
		}
		stall := max(l.CreditPercent, l.InqPercent)
		all += stall
		for _, j := range l.Jobs {
			if j.JobID == c.Jobs[0] {
				own += j.Share * stall
			}
		}
	}
	return own / max(all, 1)
}

// findRoots finds where the back pressure of a region begins, over all causes: the port or host that causes most of its stall, and
// those that cause about as much. The stall of a link with several roots is shared between them: if the eight nodes of a job all
// read more than they can receive, each of them is right.
func (t *Truth) findRoots(g *topology.Graph, truth *scenario.Truth, links []scenario.LinkTruth) {
	stall, causeOf, total := map[string]float64{}, map[string]int{}, 0.
	for _, l := range links {
		percent := max(l.CreditPercent, l.InqPercent)
		total += percent
		for _, r := range l.Roots {
			stall[r.Root] += percent * r.Share
			causeOf[r.Root] = r.Cause
		}
	}
	order := byCount(stall)
	if len(order) == 0 {
		return
	}
	together := 0.
	for _, root := range order {
		if stall[root] < alikeRoot*stall[order[0]] {
			break
		}
		together += stall[root]
		t.Roots = append(t.Roots, PlacesOf(g, root)...)
		if c := &truth.Causes[causeOf[root]]; c.Class == scenario.FailureCause { // the failed part is also right
			for _, object := range strings.Split(c.Object, ", ") {
				t.Roots = append(t.Roots, PlacesOf(g, object)...)
			}
		}
	}
	if together < leadRootShare*total {
		t.Roots = nil
	}
}

// PlacesOf parses the name of a port or host. A port also has its peer on a fabric of duplex links, whose readings have
// no direction; a host also has the ports that face it.
func PlacesOf(g *topology.Graph, name string) []Place {
	if d, ok := g.FindDevice(name); ok {
		places := []Place{{name, ""}}
		for _, id := range g.LinksAt(d) {
			if l := g.Link(id); !g.IsSwitch(d) && l.To == d {
				places = append(places, Place{g.Device(l.From).Name, l.FromPort})
			}
		}
		return places
	}
	i := strings.LastIndexByte(name, ' ')
	if i < 0 {
		return nil
	}
	place := Place{name[:i], name[i+1:]}
	places := []Place{place}
	d, ok := g.FindDevice(place.Device)
	if !ok {
		return nil
	}
	for _, id := range g.LinksAt(d) {
		l := g.Link(id)
		switch {
		case l.From == d && l.FromPort == place.Port && (g.Duplex() || !g.IsSwitch(l.To)):
			places = append(places, Place{g.Device(l.To).Name, l.ToPort})
		case l.To == d && l.ToPort == place.Port && g.Duplex():
			places = append(places, Place{g.Device(l.From).Name, l.FromPort})
		}
	}
	return places
}

// byCount returns keys by descending count.
func byCount[K cmp.Ordered, N int | float64](counts map[K]N) []K {
	keys := make([]K, 0, len(counts))
	for k := range counts {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b K) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	return keys
}
