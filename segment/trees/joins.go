package trees

// joinPieces joins causes that back pressure leaves apart, because a port can be full without being stalled.
func (c *causes) joinPieces(t *trees, s *sinks, h *shares) {
	c.joinClosed(t, s)
	h.rename(c)
	c.joinCliques(t, s)
	h.rename(c)
	for _, join := range [...]func(*trees, *sinks, *shares) bool{c.joinMutual, c.joinMisfits, c.joinLeaning, c.joinUnexplained} {
		for join(t, s, h) {
			h.rename(c)
		}
	}
}
