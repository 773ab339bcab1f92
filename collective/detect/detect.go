// Package detect decides when a host asks the switches for telemetry while a
// collective runs. In go what the host sees of its own flow: the begin and end of a
// step, notifications of ranks that wait for it, round trips, and the time; out come
// polls and notifications, within a budget of bytes. It is the step-aware adaptive
// detection of Vedrfolnir (SIGCOMM 2025 poster, section 2) and, for comparison, the
// rigid triggers. It sends nothing, and reads no clock.
package detect

import (
	"fmt"
	"math"
)

// Mode is when a host polls.
type Mode string

// Modes.
const (
	StepAware Mode = "step-aware" // waited for or overdue, and the round trip is long: a bounded number of times per step
	Threshold Mode = "threshold"  // Hawkeye: the round trip is long, at most once per interval and flow
	Periodic  Mode = "periodic"   // each flow once per interval, whatever happens
	Off       Mode = "off"
)

// Sizes in bytes of what detection sends: a notification or polling packet, and in a
// switch's report the record, each port and each flow.
const (
	PacketBytes = 64
	RecordBytes = 16
	PortBytes   = 36
	FlowBytes   = 33
)

// Config of an agent. Times are ns.
type Config struct {
	Mode           Mode
	ThresholdNanos int64   // a round trip above it is long
	IntervalNanos  int64   // Threshold, Periodic: between polls of a flow
	PollsPerStep   int     // StepAware
	BackOff        bool    // StepAware: after a poll pass over 1, 2, 4, ... steps that are slow too, until one is not
	Overdue        float64 // StepAware: a step that takes longer than this multiple of its time alone counts as waited for; twice as late, it polls whatever the round trip
	HoldNanos      int64   // StepAware: a switch does not report a port again for so long
	BudgetBytes    int64   // StepAware: telemetry per collective and host; 0: no end
}

// DefaultConfig is one poll per step, as in the poster, fewer where one slow step
// follows another, and steps that are overdue without a notification.
func DefaultConfig() Config {
	return Config{Mode: StepAware, ThresholdNanos: 40_000, IntervalNanos: 1_000_000, PollsPerStep: 1, BackOff: true, Overdue: 1.5, HoldNanos: 4_000_000, BudgetBytes: 512}
}

// Validate names what is wrong.
func (c Config) Validate() error {
	switch c.Mode {
	case StepAware, Threshold, Periodic, Off:
	default:
		return fmt.Errorf("detection %q: want %s, %s, %s or %s", c.Mode, StepAware, Threshold, Periodic, Off)
	}
	if c.ThresholdNanos < 0 || c.IntervalNanos <= 0 || c.PollsPerStep < 0 || c.Overdue < 1 || c.BudgetBytes < 0 {
		return fmt.Errorf("detection of %+v: want an interval above 0, overdue of 1 or more, and nothing below 0", c)
	}
	return nil
}

// Agent is the state machine of one host's flow in one collective:
//
//	idle -> sending (Begin) -> armed (Waited, or overdue) -> polled (round trip long) -> idle (End)
//
// A poll puts the next one of the same step off by the step's time alone. With BackOff
// a step in which it would poll is passed over where it polled in one before that was
// slow without a break: after the k-th such poll 2^(k-1) steps.
type Agent struct {
	cfg     Config
	step    int
	sending bool
	began   int64
	alone   int64
	waited  bool
	ahead   map[int]bool // steps that others wait for and that have not begun
	polls   int          // of this step
	nextAt  int64
	slow    bool // it polled in this step, or would have
	skip    int  // slow steps to pass over
	skips   int  // of the last poll
	spent   int64
	notices int64
}

// New makes the agent of a host.
func New(cfg Config) *Agent { return &Agent{cfg: cfg, ahead: map[int]bool{}} }

// Begin notes that a step is being sent; alone is its time on an idle fabric.
func (a *Agent) Begin(now int64, step int, alone int64) {
	a.step, a.sending, a.began, a.alone = step, true, now, alone
	a.waited, a.polls, a.nextAt = a.ahead[step], 0, now
	delete(a.ahead, step)
}

// End notes that the step has been sent. It reports whether the rank from which data
// is still missing, if missing, is to be notified: a host that waits passes on that it
// is waited for.
func (a *Agent) End(missing bool) (notify bool) {
	a.sending = false
	if !a.slow {
		a.skip, a.skips = 0, 0
	}
	a.slow = false
	if a.cfg.Mode != StepAware || !missing {
		return false
	}
	a.notices++
	return true
}

// Waited notes a notification: another rank has sent its step and misses this host's.
func (a *Agent) Waited(step int) {
	switch {
	case a.sending && step <= a.step:
		a.waited = true
	case step > a.step:
		a.ahead[step] = true
	}
}

// Observe decides on a poll. roundTrip is that of the last packet, or how long the
// oldest one is under way without an answer.
func (a *Agent) Observe(now, roundTrip int64) (poll bool) {
	if !a.sending || a.cfg.Mode == Off || now < a.nextAt {
		return false
	}
	switch a.cfg.Mode {
	case Periodic:
		a.nextAt = now + a.cfg.IntervalNanos
		return true
	case Threshold:
		if roundTrip <= a.cfg.ThresholdNanos {
			return false
		}
		a.nextAt = now + a.cfg.IntervalNanos
		return true
	}
	late := float64(now-a.began)/float64(max(a.alone, 1)) - 1
	armed := (a.waited || late > a.cfg.Overdue-1) && roundTrip > a.cfg.ThresholdNanos || late > 2*(a.cfg.Overdue-1)
	if !armed || a.polls >= a.cfg.PollsPerStep || a.cfg.BudgetBytes > 0 && a.spent >= a.cfg.BudgetBytes {
		return false
	}
	first := !a.slow
	a.slow = true
	if a.cfg.BackOff && a.skip > 0 {
		if first {
			a.skip--
		}
		a.nextAt = math.MaxInt64 // of this step; Begin sets it for the next
		return false
	}
	a.polls++
	a.skips = max(1, 2*a.skips)
	a.skip = a.skips
	a.nextAt = now + a.alone
	return true
}

// Spend notes what a poll has cost.
func (a *Agent) Spend(bytes int64) { a.spent += bytes }

// Spent is the sum of what polls cost in bytes.
func (a *Agent) Spent() int64 { return a.spent }

// Notices is the number of notifications that the host sent, of PacketBytes each.
func (a *Agent) Notices() int64 { return a.notices }
