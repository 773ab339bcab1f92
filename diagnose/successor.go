package diagnose

// succeeds reports whether a job, which found a region as it is, stands on the nodes of one with which the region began and that ended
// before it: what those sent over the region they send again.
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

// shares is how many nodes a job has in common with another.
func (j *job) shares(other *job) (n float64) {
	for _, d := range other.devices {
		if j.has(d) {
			n++
		}
	}
	return n
}
