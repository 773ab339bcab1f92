package diagnose

import "github.com/giverny/giverny/diagnose/history"

// negligible is the part of what a job's traffic grew by below which its traffic with files is no evidence: what it
// moves beside that congests.
const negligible = .05

// hasNegligibleFiles reports whether the traffic of a job that grew since the onset of a region, or if that is unknown
// its traffic, is all but that with files.
func (rc *regionCase) hasNegligibleFiles(j *job) bool {
	all, files := rc.in.recentOf(j)
	baseline, baselineFiles := rc.baselineOf(j)
	return all > baseline && files-baselineFiles < negligible*(all-baseline)
}

// A job may fetch what it reads by RDMA from elsewhere, such as storage nodes, if at most fetchCross of the region's
// stall is on links of its own exchange, or at its border, and its traffic doubled. Of a job that itself began then
// that says nothing.
const fetchCross = .25

// mayFetch reports whether a suspect may fetch.
func (g grid) mayFetch(c *suspect) bool {
	return g.timeline.hasOnset() && !c.evidence.started && max(c.cross, c.gate) <= fetchCross && g.doubled(c.job)
}

// doubled reports whether a job moves more than twice what it did before the onset of a region.
func (rc *regionCase) doubled(j *job) bool {
	all, _ := rc.in.recentOf(j)
	baseline, _ := rc.baselineOf(j)
	return all > 2*baseline
}

// fetches reports whether the RDMA reads of a suspect that may fetch are what stands out, and follow the stall: the
// table has them not as traffic with files, but they are with others than its nodes.
func (rc *regionCase) fetches(c *suspect) bool {
	return c.feature == history.RDMARead && c.evidence.Correlation >= readsCorrelation && c.evidence.P <= readsP &&
		rc.ground().mayFetch(c)
}
