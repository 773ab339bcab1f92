package diagnose

// succeeds reports whether a job that began after a region runs on half or more of the nodes of one that began with the region and
// ended before: it continues that job's traffic.
func (s *Stage) succeeds(rc *regionCase, j *job) bool {
	if !s.foundStalled(rc, j.Start) {
		return false
	}
	for _, was := range s.history.Jobs() {
		if was.End != 0 && was.End <= j.Start && s.startedAt(rc, was.Start) && 2*was.shares(j.Job) >= j.nodes() {
			return true
		}
	}
	return false
}

// shares is the number of nodes that a job has in common with another.
func (j *Job) shares(other *Job) (n float64) {
	for _, d := range other.devices {
		if j.has(d) {
			n++
		}
	}
	return n
}
