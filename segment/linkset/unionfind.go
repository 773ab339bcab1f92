package linkset

import "github.com/giverny/giverny/internal/scratch"

// UnionFind is disjoint sets of 0..n-1.
type UnionFind struct {
	parent []int32
	joins  int
}

// Reset creates n singletons, reusing memory.
func (u *UnionFind) Reset(n int) {
	u.parent = scratch.Slice(u.parent, n)
	for i := range u.parent {
		u.parent[i] = int32(i)
	}
	u.joins = 0
}

// Joins is how often two sets were joined since Reset.
func (u *UnionFind) Joins() int { return u.joins }

// Find returns the root of i's set, with path halving.
func (u *UnionFind) Find(i int32) int32 {
	for u.parent[i] != i {
		u.parent[i] = u.parent[u.parent[i]]
		i = u.parent[i]
	}
	return i
}

// Union joins two sets under the smaller root, and returns it.
func (u *UnionFind) Union(i, j int32) (root int32) {
	i, j = u.Find(i), u.Find(j)
	if i == j {
		return i
	}
	u.parent[max(i, j)] = min(i, j)
	u.joins++
	return min(i, j)
}
