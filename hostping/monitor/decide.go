package monitor

import (
	"maps"
	"slices"
	"time"

	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/hostping/utilisation"
)

// Decision is a decision to run.
type Decision struct {
	Trigger order.Trigger
	RNIC    string // that triggered it; empty for an idle host
}

// Decider implements the hardware monitor's rules (section 4.2, thresholds of section
// 5). It has no clock.
type Decider struct {
	cfg   Config
	idle  time.Time            // last check for idleness
	after map[string]time.Time // by RNIC: end of its hold-off
}

// NewDecider returns a Decider; it first checks for idleness one interval after now.
func NewDecider(cfg Config, now time.Time) *Decider {
	return &Decider{cfg: cfg, idle: now, after: map[string]time.Time{}}
}

// Step takes the changes of the RNICs' counters since the last step, and decides
// whether to run. skipped is the reason why a triggered run is not made.
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
	if now.Sub(d.idle) < d.cfg.IdleEvery || len(changes) == 0 { // no changes: there is no earlier reading to compare with
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
