package offline

import (
	"time"

	"github.com/giverny/giverny/schema"
)

// times notes tables that do not overlap the time range of the links: a clock or time zone is wrong, or the files are
// not of one site.
func (r *reading) times(files Files, from, to schema.Instant) {
	extent := func(name string, rows int, at func(i int) (begin, end schema.Instant)) {
		if rows == 0 {
			return
		}
		first, last := at(0)
		for i := range rows {
			begin, end := at(i)
			if begin < to && end >= from {
				return
			}
			first, last = min(first, begin), max(last, end)
		}
		r.note("tables of other times", "%s: nothing in it is of the time of the links, %s to %s: it goes from %s to "+
			"%s; check the clocks and time zones", name, from, to, first, last)
	}
	if r.cfg.Interval > 0 { // the analysis window looks back
		from -= schema.Instant(int64(r.cfg.Analysis.Diagnose.Window) * int64(r.cfg.Interval/time.Nanosecond))
	}
	extent(files.jobsName(), len(r.jobs.jobs), func(i int) (begin, end schema.Instant) {
		job := &r.jobs.jobs[i]
		if job.End == 0 { // still running
			return job.Start, max(job.Start, to)
		}
		return job.Start, job.End
	})
	extent(nameOf(files.Traffic), len(r.traffic.rows), func(i int) (begin, end schema.Instant) {
		return r.traffic.rows[i].Time, r.traffic.rows[i].Time
	})
	extent(files.failuresName(), len(r.failures.rows), func(i int) (begin, end schema.Instant) {
		return r.failures.rows[i].Time, r.failures.rows[i].Time
	})
}

// jobsName is the name of the file of jobs; empty: none.
func (f *Files) jobsName() string {
	if f.JobRows != nil {
		return f.JobRows.Name
	}
	return nameOf(f.Jobs)
}

// failuresName is the name of the file of failures; empty: none.
func (f *Files) failuresName() string {
	if f.FailureRows != nil {
		return f.FailureRows.Name
	}
	return nameOf(f.Failures)
}

func nameOf(f *File) string {
	if f == nil {
		return ""
	}
	return f.Name
}
