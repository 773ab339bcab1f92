package bench

import (
	"cmp"
	"slices"
	"strings"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
	"github.com/giverny/giverny/topology"
)

// Truth is what a verdict on one region is held against. Where the flows leave more than one answer open,
// each of them is right.
type Truth struct {
	Scored  bool                // there is enough real congestion in the region to have a cause
	Classes []schema.CauseClass // right answers
	Jobs    []string            // right answers to who is to blame first; empty: no job of the job table
	Roots   []Place             // right answers; empty: not scored
	Object  string              // what failed or is slow, for a person
	Share   float64             // of the region's congested links whose cause the first is
}

// Place is a port, or a device where Port is empty.
type Place struct{ Device, Port string }

// Limits of what is called true.
const (
	leastStalled  = .3  // share of a region's links that must really stall, else the region is noise
	oneCause      = .7  // of the stalled links: below, "unknown" (two causes at once) is right too
	halfCause     = .5  // up to which so is the second cause
	culpritShare  = .25 // of what a root is offered, from which on a job is a right answer
	mainCulprit   = .5  // a job with so much that is missing from the table makes "unknown" right
	ownWay        = .9  // of what waits on the region's links: a job with more is in its own way
	othersWay     = .7  // with less, in the way of others; between, both answers are right
	alikeRoot     = .5  // of the stall that the leading root holds back: a root with as much is a right answer too
	leadRootShare = .4  // of the region's stall, that the right answers hold back together for roots to be scored
)

// truthOf works out what really holds up the links of a region.
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
		truth.also(schema.CauseUnknown)
	}
	if truth.Share <= halfCause && len(order) > 1 {
		p.answer(&truth, t, order[1], links)
	}
	truth.findRoots(p.incident.graph, t, links)
	return truth
}

// linksOf lists the region's links that really stall and whose cause is known.
func linksOf(t *scenario.Truth, region *schema.Region) (links []scenario.LinkTruth) {
	for _, id := range region.Links {
		at, found := slices.BinarySearchFunc(t.Links, id, func(x scenario.LinkTruth, l schema.LinkID) int { return cmp.Compare(x.Link, l) })
		if found && t.Links[at].Cause >= 0 {
			links = append(links, t.Links[at])
		}
	}
	return links
}

func (t *Truth) also(c schema.CauseClass) {
	if !slices.Contains(t.Classes, c) {
		t.Classes = append(t.Classes, c)
	}
}

// answer adds the right answers that one cause makes.
func (p *play) answer(t *Truth, truth *scenario.Truth, cause int, links []scenario.LinkTruth) {
	c := &truth.Causes[cause]
	switch c.Class {
	case scenario.SlowHostCause:
		t.also(schema.CauseSlowHost)
		return
	case scenario.FailureCause:
		if t.also(schema.CauseFailure); p.incident.Kind == SlowLink { // its end may be called a host's or the link's
			t.also(schema.CauseSlowHost)
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
		t.also(schema.CauseUnknown)
	}
	if known == 0 {
		return
	}
	own := ownShare(c, cause, links)
	if c.Pattern == scenario.ReadFS || c.Pattern == scenario.WriteFS || own <= othersWay {
		t.also(schema.CauseSystem)
		return
	}
	if own < ownWay || len(c.Jobs) > 1 {
		t.also(schema.CauseSystem)
	}
	t.also(schema.CauseIntraApplication)
}

// ownShare is how much of what waits on the links of a cause is its first job's: of a link its part in what is offered there, by the
// time that the link stalls.
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

// findRoots lists the places where the back pressure of a region begins, of all causes: the port or host that holds
// back most of its stall, and those that hold back about as much. What a link holds back for several is shared between
// them: of the eight nodes of a job that all read more than they take, each is an answer.
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
		t.Roots = append(t.Roots, placesOf(g, root)...)
		if c := &truth.Causes[causeOf[root]]; c.Class == scenario.FailureCause { // the part that failed is an answer too
			for _, object := range strings.Split(c.Object, ", ") {
				t.Roots = append(t.Roots, placesOf(g, object)...)
			}
		}
	}
	if together < leadRootShare*total {
		t.Roots = nil
	}
}

// placesOf reads the simulator's name of a port or host: the port itself; on a fabric of duplex links the
// one at the other end too, since their readings know no direction; of a host, it and the ports that face it.
func placesOf(g *topology.Graph, name string) []Place {
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

// byCount lists keys by their count, the highest first.
func byCount[K cmp.Ordered, N int | float64](counts map[K]N) []K {
	keys := make([]K, 0, len(counts))
	for k := range counts {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b K) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	return keys
}
