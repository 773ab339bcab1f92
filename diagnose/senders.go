package diagnose

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/diagnose/root"
)

// mostSenders bounds the jobs that are tried as senders of a tree on a grid.
const mostSenders = 3

// mostExchange is the least share of a region's stall on links of a job's exchange for the job to be a likely sender.
const mostExchange = .5

// findSenders lists the jobs on whose links most of a grid region's stall is, likeliest first. The lists are valid
// until the next call.
func (g grid) findSenders() (senders []root.Sender, jobs []*job) {
	senders, jobs = g.in.scratch.senders[:0], g.in.scratch.sending[:0]
	if g.in.router.Grid == nil {
		return nil, nil
	}
	var out []*suspect
	for i := range g.suspects {
		if c := &g.suspects[i]; max(c.cross, c.gate, c.way) >= mostExchange && len(c.job.Devices) > 1 {
			out = append(out, c)
		}
	}
	weight := func(c *suspect) float64 { return max(c.cross, c.gate) + c.share }
	slices.SortStableFunc(out, func(a, b *suspect) int { return cmp.Compare(weight(b), weight(a)) })
	for _, c := range out[:min(len(out), mostSenders)] {
		jobs = append(jobs, c.job)
		senders = append(senders, root.Sender{Devices: c.job.Devices, Routes: g.in.routesOf(c.job)})
	}
	g.in.scratch.senders, g.in.scratch.sending = senders, jobs
	return senders, jobs
}

// fewSenders is the share of a tree's senders below which a job is not the sender.
const fewSenders = .25

// excludes reports whether the region is a tree that the job does not send: few of its senders are nodes of the job,
// and it does not end at one. Jobs with file traffic are not excluded, as storage nodes send it.
func (g grid) excludes(c *suspect) bool {
	d := &g.ends.drain
	if !d.IsCertain() || c.job == g.ends.sender || c.file || c.job.Has(d.Device) {
		return false
	}
	n := 0
	for _, s := range d.Senders {
		if c.job.Has(s) {
			n++
		}
	}
	return float64(n) < fewSenders*float64(len(d.Senders))
}
