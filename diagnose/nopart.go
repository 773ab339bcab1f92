package diagnose

// A suspect has a part in a region of directed links if it moves partShare of the region's traffic, or its hosts wait for that share of the
// time for which hosts wait to send into it. With no more than noPart the penalty is full.
const partShare, noPart = .05, .02

// noPartPenalty is the penalty of a suspect that has next to no part in a region of directed links: whatever its traffic did in time, others'
// traffic waits there. Of a job without traffic data only who waits shows that.
func (s scores) noPartPenalty(c *suspect) float64 {
	if s.graph.Duplex() || !s.comparable || c.burden >= partShare {
		return 0
	}
	part := c.burden
	own, all := s.hostWaits(c.job)
	if all > 0 {
		part = max(part, own/all)
	}
	if !c.known && all == 0 {
		return 0
	}
	return jobAbsent * max(0, min(1, (partShare-part)/(partShare-noPart)))
}

// hostWaits is the time for which the hosts of a job, and all hosts, wait to send into a region of directed links.
func (s scores) hostWaits(j *job) (own, all float64) {
	for k, l := range s.region.Links {
		from, _ := s.graph.Ends(l)
		if s.graph.IsSwitch(from) {
			continue
		}
		if all += s.waits[k]; j.Has(from) {
			own += s.waits[k]
		}
	}
	return own, all
}
