package diagnose

import (
	"fmt"
	"slices"
	"time"

	"github.com/giverny/giverny/schema"
)

// outages counts how often a part went down up to a failure, having come back in between, and since when: each outage
// within a window of the one before.
type outages struct {
	times int
	since schema.Instant
}

// part is what failed: a cable, whichever end reports it, or a device.
type part struct {
	link         schema.LinkID // NoLink: a device, or unknown
	device, port string        // without a link
}

func (f *failure) part() part {
	if f.Port != "" && len(f.links) > 0 {
		return part{link: slices.Min(f.links)}
	}
	return part{schema.NoLink, f.Device, f.Port}
}

// countOutages continues the counts of failures dropped since.
func (h *History) countOutages() {
	last := map[part]*failure{}
	for i := range h.failures {
		f := &h.failures[i]
		before := last[f.part()]
		last[f.part()] = f
		switch {
		case before != nil && f.broke() && !before.broke():
			f.outages = outages{before.times + 1, before.since}
		case before != nil:
			f.outages = before.outages
		case f.times == 0 && f.broke():
			f.times = 1
		}
		if f.times <= 1 && f.broke() && (before == nil || !before.broke()) {
			f.since = f.Time
		}
	}
}

// flaps describes how often a part went down, if more than once; else it is empty.
func (f *failure) flaps() string {
	if f.times < 2 {
		return ""
	}
	what := "the device"
	if f.Port != "" {
		what = "the link"
	}
	return fmt.Sprintf("; %s flaps: it went down %d times in %s", what, f.times, time.Duration(f.Time-f.since).Round(time.Second))
}

// repeated adds to a diagnosis the earlier failures of the part that it blames first.
func (s *Stage) repeated(rc *regionCase, d *schema.Diagnosis) {
	f := rc.failures[0].failure
	if f.times < 2 {
		return
	}
	for i := range rc.failures {
		o := &rc.failures[i]
		if o.silent == nil && o.broke() && o.part() == f.part() && o.Time < f.Time && len(d.Failures) < s.cfg.MaxListed &&
			!slices.ContainsFunc(d.Failures, func(n schema.NearFailure) bool { return n.Time == o.Time && n.Device == o.Device && n.Port == o.Port }) {
			d.Failures = append(d.Failures, o.report())
		}
	}
}
