package monitor

import (
	"maps"
	"slices"
	"time"

	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/hostping/utilisation"
)

// Decision is that a run is due, and which.
type Decision struct {
	Trigger order.Trigger
	RNIC    string // that called for it; empty of a host that is idle
}

// Decider is the hardware monitor's rules (section 4.2, thresholds of section 5). It
// has no clock.
type Decider struct {
	cfg   Config
	idle  time.Time            // when idleness was looked for last
	after map[string]time.Time // until when an RNIC calls for no other run
}

// NewDecider makes one; the first look at idleness is one interval after a time.
func NewDecider(cfg Config, now time.Time) *Decider {
	return &Decider{cfg: cfg, idle: now, after: map[string]time.Time{}}
}

// Step takes what the RNICs' counters did since the step before, and says whether a
// run is due. skipped is the reason why one is not that would have been.
func (d *Decider) Step(now time.Time, changes map[string]utilisation.Change) (due *Decision, skipped string) {
	for _, rnic := range slices.Sorted(maps.Keys(changes)) {
		c := changes[rnic]
		var trigger order.Trigger
		switch {
		case 100*c.PauseShare > d.cfg.PausePercent:
			trigger = order.Paused
		case c.Drops > 0:
			trigger = order.Dropped
		default:
			continue
		}
		if now.Before(d.after[rnic]) {
			skipped = skippedHoldOff
			continue
		}
		d.after[rnic] = now.Add(d.cfg.HoldOff)
		return &Decision{trigger, rnic}, ""
	}
	if now.Sub(d.idle) < d.cfg.IdleEvery || len(changes) == 0 { // none: there is nothing before to compare with
		return nil, skipped
	}
	d.idle = now
	for _, c := range changes {
		switch {
		case c.Share < 0:
			return nil, skippedUnreadable
		case 100*c.Share > d.cfg.IdlePercent:
			return nil, skippedBusy
		}
	}
	return &Decision{Trigger: order.IdleHost}, skipped
}
