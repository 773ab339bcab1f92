package diagnose

// outside reports whether much traffic entered or left a job in the interval of a slot, by the links of all its hosts.
type outside struct {
	slot int64
	much bool
}

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

// fetchCross is the share of a region's stall on links of a job's own exchange, or at its border, above which its RDMA reads may be
// that exchange.
const fetchCross = .25

// mayFetch reports whether a suspect's RDMA reads stand out, and are not of its exchange, which has hardly a part of the region.
func (s *Stage) mayFetch(c *suspect, usual *[numMeasured]spread) bool {
	if !s.graph.Duplex() || max(c.cross, c.gate) > fetchCross {
		return false
	}
	value, known := s.maximum(c.job, rdmaRead)
	return known && usual[rdmaRead].deviations(value) >= readsDeviations
}

// fetches reports whether the outlier of a suspect's traffic on a grid is RDMA reads from others than its nodes, such as storage
// nodes, though the table has them not as traffic with files: they follow the stall, and its exchange has hardly a part of the region.
func (s *Stage) fetches(c *suspect) bool {
	return s.graph.Duplex() && c.feature == rdmaRead && max(c.cross, c.gate) <= fetchCross && c.devs >= readsDeviations && c.Correlation >= readsCorrelation && c.P <= readsP
}

// hasOutside reports whether a job exchanges much with others, by the links of all its hosts.
func (s *Stage) hasOutside(j *job) bool { return j.outside.slot == s.clock.now && j.outside.much }
