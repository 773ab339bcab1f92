package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/giverny/giverny/schema"
)

// outages counts how often a part went down up to a failure, having come back in between, and since when: each outage
// within a window of the one before.
type outages struct {
	Times int
	since schema.Instant
}

// Part is what failed: a cable, whichever end reports it, or a device.
type Part struct {
	link         schema.LinkID // NoLink: a device, or unknown
	device, port string        // without a link
}

// Part is the part that failed or came back.
func (f *PlacedFailure) Part() Part {
	if f.Port != "" && len(f.Links) > 0 {
		return Part{link: slices.Min(f.Links)}
	}
	return Part{schema.NoLink, f.Device, f.Port}
}

// countOutages continues the counts of failures dropped since.
func (h *History) countOutages() {
	last := map[Part]*PlacedFailure{}
	for i := range h.Failures {
		f := &h.Failures[i]
		before := last[f.Part()]
		last[f.Part()] = f
		switch {
		case before != nil && f.Broke() && !before.Broke():
			f.outages = outages{before.Times + 1, before.since}
		case before != nil:
			f.outages = before.outages
		case f.Times == 0 && f.Broke():
			f.Times = 1
		}
		if f.Times <= 1 && f.Broke() && (before == nil || !before.Broke()) {
			f.since = f.Time
		}
	}
}

// Flaps describes how often a part went down, if more than once; else it is empty.
func (f *PlacedFailure) Flaps() string {
	if f.Times < 2 {
		return ""
	}
	what := "the device"
	if f.Port != "" {
		what = "the link"
	}
	return fmt.Sprintf("; %s flaps: it went down %d times in %s", what, f.Times,
		time.Duration(f.Time-f.since).Round(time.Second))
}
