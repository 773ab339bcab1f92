package diagnose

// succeeds reports whether a job that began after a region runs on half or more of the nodes of one that began with the region and
// ended before: it continues that job's traffic.
func (s *Stage) succeeds(rc *regionCase, j *job) bool {
	if !s.foundStalled(rc, j.Start) {
		return false
	}
	for _, was := range s.jobs.all() {
		if was.End != 0 && was.End <= j.Start && s.startedAt(rc, was) && 2*was.shares(j) >= j.nodes() {
			return true
		}
	}
	return false
}

// shares is the number of nodes that a job has in common with another.
func (j *job) shares(other *job) (n float64) {
	for _, d := range other.devices {
		if j.has(d) {
			n++
		}
	}
	return n
}
