package trees

// isAcrossSaddle reports whether a node stalls clearly more than node j, which it may wait for, while further on clearly
// more than at j stalls again. The stall of one cause falls upstream, or rises where senders push; it does not fall and
// then rise, so something else begins at j.
func (t *waiting) isAcrossSaddle(i, j nodeID) bool {
	if j < 0 || !t.isClearlyAbove(t.stall[i], t.stall[j]) {
		return false
	}
	k := j
	for range maxRank { // links may wait in a cycle
		if k = t.hottestAfter(k); k < 0 {
			return false
		}
		if t.isClearlyAbove(t.stall[k], t.stall[j]) {
			return true
		}
	}
	return false
}
