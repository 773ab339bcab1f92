package trees

import (
	"cmp"
	"os"
	"slices"
	"strconv"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
)

// layerPieces joins regions of the residual with layers: traffic that shares links with an exchange waits for it,
// however much, and subtracting the layer hides what it waits for.
type layerPieces struct {
	isIn  []bool // by link: in the region in question
	votes []vote // by end of the region: the layer that it waits for
}

// leadsShare is the share of a region's ends that must wait for one layer.
const leadsShare = .75

// asMuch is for trial
var asMuch = env("ASMUCH", .8)

func env(k string, d float64) float64 {
	if v, err := strconv.ParseFloat(os.Getenv(k), 64); err == nil {
		return v
	}
	return d
}

// joinPieces gives the links of regions that only lead to a layer to that layer, and drops these regions.
func (y *layers) joinPieces(m *Method, values []float32, out *linkset.Groups) {
	p := &y.pieces
	p.isIn = append(p.isIn[:0], make([]bool, len(values))...)
	y.keepGroups(m, out, func(g int, links []schema.LinkID) bool {
		if m.roots[g].link != schema.NoLink {
			return true
		}
		layer := y.ledToBy(m, values, links)
		if layer == noLayer {
			return true
		}
		for _, l := range links {
			y.links = append(y.links, layerLink{layer, int32(l)})
		}
		return false
	})
	slices.SortFunc(y.links, compareLayerLinks)
	y.links = slices.Compact(y.links)
}

func compareLayerLinks(a, b layerLink) int {
	return cmp.Or(cmp.Compare(a.layer, b.layer), cmp.Compare(a.link, b.link))
}

// ledToBy is the layer for which nearly all ends of a region wait, or noLayer. An end is a link that waits for no
// other of the region.
func (y *layers) ledToBy(m *Method, values []float32, region []schema.LinkID) int32 {
	c := &y.pieces
	for _, l := range region {
		c.isIn[l] = true
	}
	best, ends := noLayer, 0
	c.votes = c.votes[:0]
	for _, l := range region {
		if m.waits.toHost(int32(l)) {
			ends++
			continue
		}
		next := y.layerAfter(m, values, int32(l))
		if next == waitsInside {
			continue
		}
		ends++
		if next != noLayer {
			c.votes = append(c.votes, vote{cause: next, n: 1})
		}
	}
	for _, l := range region {
		c.isIn[l] = false
	}
	slices.SortFunc(c.votes, func(a, b vote) int { return cmp.Compare(a.cause, b.cause) })
	for i := 0; i < len(c.votes); {
		j := i
		for ; j < len(c.votes) && c.votes[j].cause == c.votes[i].cause; j++ {
		}
		if float64(j-i) > leadsShare*float64(ends) {
			best = c.votes[i].cause
		}
		i = j
	}
	return best
}

const waitsInside = int32(-2)

// layerAfter is the layer of the most stalled link that a link may wait for, of those that stall about as much or
// more; noLayer if there is none, or one of these leads to a leaf with a port that may be the reason.
func (y *layers) layerAfter(m *Method, values []float32, link int32) int32 {
	w, best, hasRoot := m.waits, int32(-1), false
	least := asMuch * float64(values[link])
	for _, l := range w.out.of(w.to[link]) {
		if !w.mayWait(link, l) {
			continue
		}
		if y.pieces.isIn[l] {
			return waitsInside
		}
		if y.layerOf[l] == noLayer || w.toHost(l) || float64(values[l]) < least {
			continue
		}
		hasRoot = hasRoot || y.hasRoot(w, w.to[l], max(m.hot, least))
		if best < 0 || values[l] > values[best] {
			best = l
		}
	}
	if best < 0 || hasRoot || w.fromHost(link) || y.layerOf[link] != noLayer {
		return noLayer
	}
	return y.layerOf[best]
}

// hasRoot reports whether a port of a leaf to a host stalls at least so much beyond what the layers explain.
func (y *layers) hasRoot(w *waits, leaf int32, least float64) bool {
	return slices.ContainsFunc(w.out.of(leaf), func(l int32) bool { return w.toHost(l) && float64(y.rest[l]) >= least })
}
