package diagnose

// succeeds reports whether a job that began after a region runs on half or more of the nodes of one that began with the
// region and ended before: it continues that job's traffic.
func (s scores) succeeds(j *job) bool {
	if !s.timeline.foundStalled(j.Start) {
		return false
	}
	for _, was := range s.in.history.Jobs() {
		if was.End != 0 && was.End <= j.Start && s.timeline.startedAt(was.Start) && 2*was.Shares(j.Job) >= j.Size() {
			return true
		}
	}
	return false
}
