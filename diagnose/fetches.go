package diagnose

// trifle is the part of what a job's traffic grew by below which its traffic with files is no evidence: what it moves beside that
// congests.
const trifle = .05

// filesAreTrifles reports whether the traffic of a job that grew since the onset of a region, or if that is unknown its traffic, is
// all but that with files.
func (s *Stage) filesAreTrifles(rc *regionCase, j *job) bool {
	all, files := s.lately(j)
	was, filesWas := s.earlier(rc, j)
	return all > was && files-filesWas < trifle*(all-was)
}

// A job may fetch what it reads by RDMA from elsewhere, such as storage nodes, if at most fetchCross of the region's stall is on links
// of its own exchange, or at its border, and it moves fetchRise times what it did before the onset.
// Of a job that itself began then that says nothing.
const fetchCross, fetchRise = .25, 2.

// mayFetch reports whether a suspect on a grid may fetch.
func (s *Stage) mayFetch(rc *regionCase, c *suspect) bool {
	if !s.graph.Duplex() || rc.onset < 0 || c.started || max(c.cross, c.gate) > fetchCross {
		return false
	}
	all, _ := s.lately(c.job)
	was, _ := s.earlier(rc, c.job)
	return all > fetchRise*was
}

// fetches reports whether the RDMA reads of a suspect that may fetch are what stands out, and follow the stall: the table has them not
// as traffic with files, but they are with others than its nodes.
func (s *Stage) fetches(rc *regionCase, c *suspect) bool {
	return c.feature == rdmaRead && c.Correlation >= readsCorrelation && c.P <= readsP && s.mayFetch(rc, c)
}
