package layers

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

// Layers are all-to-all exchanges over a two-level fabric, where every leaf sends to every other over all spines. Any
// stalled uplink may wait for any stalled downlink, so back pressure does not tell exchanges from trees. Levels do:
// all that a leaf sends in an exchange stalls alike, as does all that it receives, so leaves of one exchange have the
// same levels. Layers are subtracted from the readings; trees are searched in the residual.
type Layers struct {
	waits   *backpressure.Graph
	values  index.Readings // as read
	hot     float64        // percent from which a link is stalled
	idle    float32        // percent that calm links read
	all     index.By[layerID, layer]
	leaves  []leafLevels // by level
	rest    index.Readings
	links   []layerLink
	layerOf index.By[index.Link, layerID] // a layer that has it, or noLayer
	sample  []float64
	bits    []uint32 // of sample, to sort
	off     []float64
}

// layerID is an index of layers.all.
type layerID int32

// layer is an exchange: the levels at which its uplinks, downlinks and links from hosts stall, the last 0 if they do
// not.
type layer struct {
	sent, comes, hosts float64
	leaves             int
	rough              float64 // sum over leaves of the spread of links to and from spines, relative to their level
}

type layerLink struct {
	layer layerID
	link  index.Link
}

func compareLayerLinks(a, b layerLink) int {
	return cmp.Or(cmp.Compare(a.layer, b.layer), cmp.Compare(a.link, b.link))
}

const (
	noLayer    = layerID(-1)
	mostLayers = 16
	sameLevel  = .1 // relative difference of sent and comes up to which an exchange stalls uniformly
	// Residual of a link. If the median of its kind at the leaf is above the layer's level by levelRest of it and a
	// point: all above the level. Else what stands out by a share of the level and a point, and by standsOutBy
	// deviations.
	levelRest              = .2
	standsOut, standsOutBy = .35, 3.5
	// Tolerance on a link from a host: hostRestBy deviations of the uplinks, at most hostRest, and hostPoints.
	hostRestBy, hostRest, hostPoints = 4, .4, 2
	fewestLevelPorts                 = 2 // of a leaf, at a layer's level
	portRest                         = 1 // excess of a port over the median, relative to it, from which it is another cause's root
	// A region of the residual is only variation of layers (dust) if that share of its links is in layers and no more
	// of its stall is left.
	dustShare, mostDust = .8, .4
)

// isUneven reports whether a layer's leaves may differ, as it does not stall uniformly.
func (z *layer) isUneven() bool { return math.Abs(z.sent-z.comes) > sameLevel*z.sent }

// Separate finds the layers and returns the readings without them.
func (y *Layers) Separate(w *backpressure.Graph, values index.Readings, hot, idle float64) []float32 {
	y.waits, y.values, y.hot, y.idle = w, values, hot, float32(idle)
	y.all, y.links = y.all[:0], y.links[:0]
	y.measureLeaves()
	if y.find(); len(y.all) == 0 {
		return values
	}
	y.measureRest()
	y.dropRaised()
	y.dropSums()
	y.findMembers()
	y.dropPairs()
	if !slices.ContainsFunc(y.all, func(z layer) bool { return z.leaves > 0 }) {
		return values
	}
	y.rest = append(y.rest[:0], values...)
	y.layerOf = scratch.Filled(y.layerOf, len(values), noLayer)
	for k := range y.leaves {
		if x := &y.leaves[k]; x.layers[0] != noLayer {
			y.subtractLeaf(x)
		}
	}
	slices.SortFunc(y.links, compareLayerLinks)
	return y.rest
}

// IsAny reports whether any links belong to layers.
func (y *Layers) IsAny() bool { return len(y.links) > 0 }

// subtractLeaf subtracts a leaf's layers from its links' readings.
func (y *Layers) subtractLeaf(x *leafLevels) {
	w := y.waits
	var level layer
	hasMany := x.ports > backpressure.MinFeeders
	for _, c := range x.layers {
		if c != noLayer {
			z := &y.all[c]
			level.sent, level.comes, level.hosts = level.sent+z.sent, level.comes+z.comes, level.hosts+z.hosts
		}
	}
	even, portExplains := !level.isUneven(), !hasMany && x.port >= backpressure.PortShare*x.down.middle
	for _, l := range w.Out.Of(x.device) {
		switch v := float64(y.values[l]); {
		case v < y.hot:
		case w.IsUp(l):
			y.give(x, l, x.up.left(v, level.sent, even))
		case hasMany && w.ToHost(l):
			left := v - x.portMiddle
			if left <= portRest*x.portMiddle {
				left = 0
			}
			y.give(x, l, left)
		case w.ToHost(l) && x.ports >= fewestLevelPorts && y.isLevelPort(l, level.comes):
			y.give(x, l, 0)
		}
	}
	for _, l := range w.In.Of(x.device) {
		switch v := float64(y.values[l]); {
		case v < y.hot:
		case w.IsDown(l):
			left := x.down.left(v, level.comes, even)
			if left > 0 && portExplains {
				left = v // all of it may wait for the port
			}
			y.give(x, l, left)
		case w.FromHost(l) && level.hosts > 0:
			y.addHostLink(x, l, v-level.hosts, level.hosts)
		}
	}
}

// isLevelPort reports whether a port to a host stalls at the level comes of a layer and its host waits to send.
func (y *Layers) isLevelPort(link index.Link, comes float64) bool {
	w := y.waits
	waits := func(l index.Link) bool { return w.From[l] == w.To[link] && float64(y.values[l]) >= y.hot }
	return isAlike(float64(y.values[link]), comes) && slices.ContainsFunc(w.In.Of(w.From[link]), waits)
}

// left is the residual of reading v over a level: if the links together are not clearly above the level, only what
// stands out.
func (l *linkLevel) left(v, level float64, even bool) float64 {
	if even && l.middle-level > levelRest*level+1 {
		return v - level
	}
	base := max(l.middle, level)
	if v-base > max(standsOut*base+1, standsOutBy*l.spread) {
		return v - base
	}
	return 0
}

// give adds a link to the layers of its leaf, with its residual.
func (y *Layers) give(x *leafLevels, link index.Link, left float64) {
	y.rest[link], y.layerOf[link] = max(y.idle, float32(left)), x.layers[0]
	for _, c := range x.layers {
		if c != noLayer {
			y.links = append(y.links, layerLink{c, link})
		}
	}
}

// addHostLink adds a link from a host, with its residual over a level, to the layers of its leaf.
func (y *Layers) addHostLink(x *leafLevels, link index.Link, left, level float64) {
	if left <= min(hostRest, hostRestBy*x.up.spread/max(1, x.up.middle))*level+hostPoints {
		left = 0
	}
	y.give(x, link, left)
}

// Emit adds a region for each layer of at least least links.
func (y *Layers) Emit(least int, out *backpressure.Regions) {
	for i := 0; i < len(y.links); {
		j := i
		for ; j < len(y.links) && y.links[j].layer == y.links[i].layer; j++ {
			out.Links = append(out.Links, schema.LinkID(y.links[j].link))
		}
		if j-i < least {
			out.Links = out.Links[:len(out.Links)-(j-i)]
		} else {
			out.End(backpressure.NoRoot)
		}
		i = j
	}
}

// IsMore reports whether the links of a region are more than the variation of layers.
func (y *Layers) IsMore(links []schema.LinkID) bool {
	n, read, left := 0, 0., 0.
	for _, id := range links {
		l := index.Link(id)
		if y.layerOf[l] != noLayer {
			n++
		}
		read, left = read+float64(y.values[l]), left+float64(max(0, y.rest[l]))
	}
	return float64(n) < dustShare*float64(len(links)) || left > mostDust*read
}

// AddSent adds what the layers add to the uplinks of each leaf.
func (y *Layers) AddSent(sum index.By[index.Device, float64]) {
	if !y.IsAny() {
		return
	}
	for k := range y.leaves {
		x := &y.leaves[k]
		for _, c := range x.layers {
			if c != noLayer {
				sum[x.device] += y.all[c].sent
			}
		}
	}
}
