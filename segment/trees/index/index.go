package index

import (
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
)

// Indices that the packages of the tree method share. -1 means none, unless a comment says otherwise.
type (
	Device   int32 // a switch or host: a topology.DeviceID
	Link     int32 // a directed link: a schema.LinkID
	Group    int32 // a pod, or a group of a dragonfly
	NameRank int32 // the place of a device in the order of names, which does not depend on numbering
	Node     int32 // a stalled link of the snapshot: an index of backpressure.Nodes.Links
)

// kind is any kind of index.
type kind interface{ ~int32 }

// By is a slice with an element for each index of a kind.
type By[K kind, V any] []V

// Len is the end of the indices, to range over them.
func (b By[K, V]) Len() K { return K(len(b)) }

// Readings are percentages by link, or linkset.Missing.
type Readings = By[Link, float32]

// Lists lists values of one kind by keys of another (compressed sparse rows).
type Lists[K, V kind] struct {
	Off []int32 // by key: where its values begin in At
	At  []V
}

// Of lists the values of a key.
func (l *Lists[K, V]) Of(key K) []V { return l.At[l.Off[key]:l.Off[key+1]] }

// List lists values by their keys, reusing memory; n is the number of keys.
func (l *Lists[K, V]) List(keys []K, n int) {
	l.Off, l.At = scratch.Zeroed(l.Off, n+2), scratch.Slice(l.At, len(keys))
	for _, k := range keys {
		l.Off[k+2]++
	}
	for k := range n {
		l.Off[k+2] += l.Off[k+1]
	}
	for v, k := range keys { // Off[k+1] is the next free place of key k
		l.At[l.Off[k+1]] = V(v)
		l.Off[k+1]++
	}
	l.Off = l.Off[:n+1]
}

// Keys is the end of the keys, to range over them.
func (l *Lists[K, V]) Keys() K { return K(len(l.Off) - 1) }

// UnionFind is disjoint sets of one kind of index.
type UnionFind[K kind] struct{ linkset.UnionFind }

// Find names the set of i; Union joins two and returns its name.
func (u *UnionFind[K]) Find(i K) K     { return K(u.UnionFind.Find(int32(i))) }
func (u *UnionFind[K]) Union(i, j K) K { return K(u.UnionFind.Union(int32(i), int32(j))) }
