package trees

import (
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
)

// Indices of one kind each: the compiler checks that none is taken for another. -1 means none, unless a comment says
// otherwise.
type (
	deviceID    int32 // a switch or host: a topology.DeviceID
	linkID      int32 // a directed link: a schema.LinkID
	groupID     int32 // a pod, or a group of a dragonfly
	nameRank    int32 // the place of a device in the order of names, which does not depend on numbering
	aboveID     int32 // what leaves exchange over: see below
	nodeID      int32 // a stalled link of the snapshot: an index of trees.links
	listID      int32 // a list of nodes to wait for: an index of trees.next
	hops        int32 // the rank of a node: how many hops it is from a sink
	placeID     int32 // where a sink may be: a device, or, numbered after the devices, a link
	componentID int32 // a component of back pressure, by one of its elements: nodes, then devices
	sinkID      int32 // an index of sinks.all
	levelID     int32 // a set of sinks at one level, by its first sink
	causeID     int32 // a cause, by its first sink; or, numbered after the sinks, a port that is another cause than its sink
	patchID     int32 // an index of patches.all; or a set of patches that are one region, by its first
	podID       int32 // an index of spines.pods; 0 on two levels
	regionID    int32 // a group of links, by its place
	memberID    int32 // a link of a region
	layerID     int32 // an exchange known from whole leaves: an index of layers.all or hostExchanges.all
)

// index is any kind of index.
type index interface{ ~int32 }

// by is a slice with an element for each index of a kind. The compiler takes any integer as its index, so
// TestIndicesAreOfTheirKind checks them.
type by[K index, V any] []V

// len is the end of the indices, to range over them.
func (b by[K, V]) len() K { return K(len(b)) }

// readings are percentages by link, or linkset.Missing.
type readings = by[linkID, float32]

// lists lists values of one kind by keys of another (compressed sparse rows).
type lists[K, V index] struct {
	off []int32 // by key: where its values begin in at
	at  []V
}

func (l *lists[K, V]) of(key K) []V { return l.at[l.off[key]:l.off[key+1]] }

// list lists values by their keys, reusing memory; n is the number of keys.
func (l *lists[K, V]) list(keys []K, n int) {
	l.off, l.at = scratch.Zeroed(l.off, n+2), scratch.Slice(l.at, len(keys))
	for _, k := range keys {
		l.off[k+2]++
	}
	for k := range n {
		l.off[k+2] += l.off[k+1]
	}
	for v, k := range keys { // off[k+1] is the next free place of key k
		l.at[l.off[k+1]] = V(v)
		l.off[k+1]++
	}
	l.off = l.off[:n+1]
}

// keys is the end of the keys, to range over them.
func (l *lists[K, V]) keys() K { return K(len(l.off) - 1) }

// unionFind is disjoint sets of one kind of index.
type unionFind[K index] struct{ linkset.UnionFind }

func (u *unionFind[K]) Find(i K) K     { return K(u.UnionFind.Find(int32(i))) }
func (u *unionFind[K]) Union(i, j K) K { return K(u.UnionFind.Union(int32(i), int32(j))) }
