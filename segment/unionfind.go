package segment

// unionFind keeps disjoint sets of 0..n-1.
type unionFind struct{ parent []int32 }

// reset makes n sets of one, in the memory at hand.
func (u *unionFind) reset(n int) {
	u.parent = resize(u.parent, n)
	for i := range u.parent {
		u.parent[i] = int32(i)
	}
}

// find is the root of i's set. Paths are halved on the way.
func (u *unionFind) find(i int32) int32 {
	for u.parent[i] != i {
		u.parent[i] = u.parent[u.parent[i]]
		i = u.parent[i]
	}
	return i
}

// union joins two sets under the smaller root, and returns it.
func (u *unionFind) union(i, j int32) (root int32) {
	i, j = u.find(i), u.find(j)
	switch {
	case i < j:
		u.parent[j] = i
	case j < i:
		u.parent[i] = j
	}
	return min(i, j)
}

// resize is s with length n, its content unspecified, reallocated only to grow.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}
