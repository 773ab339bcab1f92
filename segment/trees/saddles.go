package trees

import "github.com/giverny/giverny/segment/trees/index"

// isAcrossSaddle reports whether a node stalls clearly more than node j, which it may wait for, while further on clearly
// more than at j stalls again. The stall of one cause falls upstream, or rises where senders push; it does not fall and
// then rise, so something else begins at j.
func (t *trees) isAcrossSaddle(i, j index.Node) bool {
	if j < 0 || !t.IsClearlyAbove(t.Stall[i], t.Stall[j]) {
		return false
	}
	k := j
	for range maxRank { // links may wait in a cycle
		if k = t.HottestAfter(k); k < 0 {
			return false
		}
		if t.IsClearlyAbove(t.Stall[k], t.Stall[j]) {
			return true
		}
	}
	return false
}
