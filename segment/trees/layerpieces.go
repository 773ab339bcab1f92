package trees

import (
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
)

const (
	// More than this share of a region's ends wait for a layer that the region belongs to.
	leadShare = .75
	// A link waits for links that stall at least that share of its own stall: about as much, or more.
	aboutAsMuch = .8
)

// joinPieces adds a region of the residual to the layer for which it waits, if it has no root port of its own. The
// traffic of other leaves that shares links with an exchange waits for these, at any level; without the layer, its
// waiting seems to end at a spine.
func (y *layers) joinPieces(m *Method, values readings, out *linkset.Groups) {
	y.inRegion = scratch.Slice(y.inRegion, len(values))
	clear(y.inRegion)
	y.findPorts(m.waits, values)
	y.links = m.moveTo(y.links, out, func(g int, region []schema.LinkID) layerID {
		if m.roots[g].link != schema.NoLink {
			return noLayer
		}
		return y.layerWaitedFor(m, values, region)
	})
}

// moveTo adds the groups that are part of a layer, or of another exchange, to its links, and removes them.
func (m *Method) moveTo(links []layerLink, out *linkset.Groups, layerOf func(g int, region []schema.LinkID) layerID) []layerLink {
	m.keep(out, func(g int, region []schema.LinkID) bool {
		layer := layerOf(g, region)
		if layer == noLayer {
			return true
		}
		for _, l := range region {
			links = append(links, layerLink{layer, linkID(l)})
		}
		return false
	})
	slices.SortFunc(links, compareLayerLinks)
	return slices.Compact(links)
}

// layerWaitedFor is the layer for which nearly all ends of a region wait, or noLayer. An end waits for no other link of the
// region.
func (y *layers) layerWaitedFor(m *Method, values readings, region []schema.LinkID) layerID {
	for _, l := range region {
		y.inRegion[linkID(l)] = true
	}
	ends, leads := 0, [mostLayers]int{}
	for _, l := range region {
		if y.waitsWithin(m.waits, linkID(l)) {
			continue
		}
		ends++
		if layer := y.layerAfter(m, values, linkID(l)); layer != noLayer {
			leads[layer]++
		}
	}
	for _, l := range region {
		y.inRegion[linkID(l)] = false
	}
	for layer, n := range leads {
		if float64(n) > leadShare*float64(ends) {
			return layerID(layer)
		}
	}
	return noLayer
}

// waitsWithin reports whether a link may wait for a link of the region.
func (y *layers) waitsWithin(w *waits, link linkID) bool {
	return slices.ContainsFunc(w.out.of(w.to[link]), func(l linkID) bool { return y.inRegion[l] && w.mayWait(link, l) })
}

// layerAfter is the layer of the most stalled link between switches that a link may wait for, if that stalls about as
// much or more. It is noLayer if there is none, or if one of these leads to a leaf with a port that may be a root.
// A link in a layer, or from a host, shows nothing: its leaf has levels of its own.
func (y *layers) layerAfter(m *Method, values readings, link linkID) layerID {
	w, best, most := m.waits, noLayer, float32(0)
	if w.fromHost(link) || y.layerOf[link] != noLayer {
		return noLayer
	}
	least := aboutAsMuch * float64(values[link])
	for _, l := range w.out.of(w.to[link]) {
		if y.layerOf[l] == noLayer || w.toHost(l) || float64(values[l]) < least || !w.mayWait(link, l) {
			continue
		}
		if float64(y.port[w.to[l]]) >= max(m.hot, least) {
			return noLayer
		}
		if values[l] > most || values[l] == most && y.layerOf[l] < best {
			best, most = y.layerOf[l], values[l]
		}
	}
	return best
}

// findPorts finds the highest stall of a switch's ports to hosts. It may be a root, even at the level of a layer's other
// ports.
func (y *layers) findPorts(w *waits, values readings) {
	y.port = scratch.Zeroed(y.port, len(w.level))
	for l, v := range values {
		if from := w.from[l]; w.toHost(linkID(l)) {
			y.port[from] = max(y.port[from], v)
		}
	}
}
