package backpressure

import (
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees/index"
)

// findLoneEnds marks the lone hot links behind which a chain of waiting seems to end.
func (t *Waits) findLoneEnds() {
	t.loneEnd = scratch.Slice(t.loneEnd, len(t.Links))
	for i := range t.Links.Len() {
		t.loneEnd[i] = t.endsAlone(i) && t.raisesNothing(i) || t.onlyAggregates(i) || t.isBesideUplinks(i)
	}
}

// onlyAggregates reports whether a link leads to a switch's own aggregation node, which few send to, and all that may wait
// for it may also wait for other links that stall.
func (t *Nodes) onlyAggregates(end index.Node) bool {
	w, d := t.Graph, t.From[end]
	return w.aggregates[t.To[end]] && !slices.ContainsFunc(t.Into.Of(d), func(i index.Node) bool {
		isOther := func(j index.Node) bool { return j != end && w.MayWait(t.Links[i], t.Links[j]) }
		return w.MayWait(t.Links[i], t.Links[end]) && !slices.ContainsFunc(t.Leaving.Of(d), isOther)
	})
}

// goesOn reports whether a link stalls on which the traffic of another may go on.
func (t *Nodes) goesOn(i index.Node) bool {
	return !t.ToHost(i) && slices.ContainsFunc(t.Leaving.Of(t.To[i]), func(j index.Node) bool {
		return t.ToHost(j) || t.Graph.MayWait(t.Links[i], t.Links[j])
	})
}

// endsAlone reports whether a link down from a higher switch is the only stalled one down into its far end, an
// aggregation node or a switch where nothing stalls on which its traffic may go on.
func (t *Nodes) endsAlone(i index.Node) bool {
	w := t.Graph
	if t.FromHost(i) || w.IsLeaf(t.From[i]) || w.IsUp(t.Links[i]) || t.goesOn(i) {
		return false
	}
	comesToo := func(j index.Node) bool { return j != i && !t.FromHost(j) && !w.IsUp(t.Links[j]) }
	return t.ToHost(i) || !slices.ContainsFunc(t.Into.Of(t.To[i]), comesToo)
}

// FewestRaised is how many links show that traffic waits for a link: a single one may be hot by chance.
const FewestRaised = 2

// raisesNothing reports whether nothing shows that traffic waits for a link: of those that may wait for it, most lead
// up, or all may wait for others that stall clearly more, and fewer than fewestRaised of those that lead up are clearly above
// all of their siblings, the links from their switch to others of the same level, which do not lead to this one.
func (t *Nodes) raisesNothing(end index.Node) bool {
	w, d := t.Graph, t.From[end]
	all, up, raised := 0, 0, 0
	for _, i := range t.Into.Of(d) {
		if !w.MayWait(t.Links[i], t.Links[end]) {
			continue
		}
		all++
		if t.FromHost(i) || !w.IsUp(t.Links[i]) {
			continue
		}
		if most := t.mostBeside(i); most >= 0 {
			up++
			if t.IsClearlyAbove(t.Stall[i], most) {
				raised++
			}
		}
	}
	return raised < FewestRaised && (up >= MinFeeders && 2*up > all || t.isOutshone(end))
}

// isOutshone reports whether all that may wait for a link may also wait for one that stalls clearly more, and does not end
// alone.
func (t *Nodes) isOutshone(end index.Node) bool {
	w, d := t.Graph, t.From[end]
	return !slices.ContainsFunc(t.Into.Of(d), func(i index.Node) bool {
		isOther := func(j index.Node) bool {
			return w.MayWait(t.Links[i], t.Links[j]) && t.IsClearlyAbove(t.Stall[j], t.Stall[end]) && !t.endsAlone(j)
		}
		return w.MayWait(t.Links[i], t.Links[end]) && !slices.ContainsFunc(t.Leaving.Of(d), isOther)
	})
}

// mostBeside is the highest reading of the siblings of a link, or -1 if none was read.
func (t *Nodes) mostBeside(i index.Node) float64 {
	w, d, most := t.Graph, t.To[i], float32(linkset.Missing)
	for _, k := range w.Out.Of(t.From[i]) {
		if w.To[k] != d && w.Level[w.To[k]] == w.Level[d] {
			most = max(most, t.Values[k])
		}
	}
	return float64(most)
}

// isBesideUplinks reports whether a link is the only stalled port of a leaf where nothing waits but hosts, its own among them, and
// the uplinks explain these: half or more stall, about as much as the port or more, and no host clearly more.
func (t *Nodes) isBesideUplinks(i index.Node) bool {
	d := t.From[i]
	if !t.ToHost(i) || !t.Graph.IsLeaf(d) || !t.WaitsToSend(t.To[i]) || t.StalledInto(d) > t.StalledHosts(d) {
		return false
	}
	n, sum := 0., 0.
	for _, j := range t.Leaving.Of(d) {
		if t.ToHost(j) && j != i {
			return false
		}
		if !t.ToHost(j) {
			n, sum = n+1, sum+t.Stall[j]
		}
	}
	isAbove := func(j index.Node) bool { return t.IsClearlyAbove(t.Stall[j], sum/n) }
	return n > 1 && 2*n >= float64(t.MeasuredUp(d)) && sum >= n*AboutAsMuch*t.Stall[i] && !slices.ContainsFunc(t.Into.Of(d), isAbove)
}
