// Package detect decides when a host polls the switches for telemetry during a
// collective. The input is what the host sees of its own flow: begin and end of a step,
// notifications of ranks that wait for it, round trips, and the time. The output is
// polls and notifications, within a budget of bytes. It implements the step-aware
// adaptive detection of Vedrfolnir (SIGCOMM 2025 poster, section 2) and, for
// comparison, the rigid triggers. It sends nothing and reads no clock.
package detect

import (
	"fmt"
	"math"
)

// Mode is the policy by which a host polls.
type Mode string

// Modes.
const (
	StepAware Mode = "step-aware" // if another rank waits or the step is overdue, and the round trip is long; bounded per step
	Threshold Mode = "threshold"  // Hawkeye: the round trip is long, at most once per interval and flow
	Periodic  Mode = "periodic"   // each flow once per interval, unconditionally
	Off       Mode = "off"
)

// Sizes in bytes of what detection sends: a notification or polling packet; and, in a
// switch's report, the record, each port and each flow.
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
	BackOff        bool    // StepAware: after a poll skip 1, 2, 4, ... slow steps, until one is not slow
	Overdue        float64 // StepAware: a step over this multiple of its time alone counts as waited for; twice as late, it polls regardless of the round trip
	HoldNanos      int64   // StepAware: time during which a switch does not report a port again
	BudgetBytes    int64   // StepAware: telemetry per collective and host; 0: unlimited
}

// DefaultConfig polls once per step, as in the poster, less often when slow steps
// follow each other, and also on overdue steps without a notification.
func DefaultConfig() Config {
	return Config{Mode: StepAware, ThresholdNanos: 40_000, IntervalNanos: 1_000_000, PollsPerStep: 1, BackOff: true, Overdue: 1.5, HoldNanos: 4_000_000, BudgetBytes: 512}
}

// Validate reports invalid fields.
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
// After a poll the next one in the same step is delayed by the step's time alone. With
// BackOff, after the k-th poll in an unbroken sequence of slow steps the agent skips
// 2^(k-1) steps in which it would poll.
type Agent struct {
	cfg     Config
	step    int
	sending bool
	began   int64
	alone   int64
	waited  bool
	ahead   map[int]bool // later steps that others already wait for
	polls   int          // in this step
	nextAt  int64
	slow    bool // it polled in this step, or would have without back-off
	skip    int  // slow steps still to skip
	skips   int  // skip as set by the last poll
	spent   int64
	notices int64
}

// New returns the agent of a host.
func New(cfg Config) *Agent { return &Agent{cfg: cfg, ahead: map[int]bool{}} }

// Begin records the begin of a step's sending; alone is its time on an idle fabric.
func (a *Agent) Begin(now int64, step int, alone int64) {
	a.step, a.sending, a.began, a.alone = step, true, now, alone
	a.waited, a.polls, a.nextAt = a.ahead[step], 0, now
	delete(a.ahead, step)
}

// End records that the step has been sent. missing says that data of another rank is
// still awaited; notify reports whether that rank is to be notified that this host
// waits for it.
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

// Waited records a notification: another rank has sent its step and awaits this host's.
func (a *Agent) Waited(step int) {
	switch {
	case a.sending && step <= a.step:
		a.waited = true
	case step > a.step:
		a.ahead[step] = true
	}
}

// Observe decides whether to poll. roundTrip is that of the last packet, or the age of
// the oldest unacknowledged one.
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
		a.nextAt = math.MaxInt64 // for this step; Begin sets it for the next
		return false
	}
	a.polls++
	a.skips = max(1, 2*a.skips)
	a.skip = a.skips
	a.nextAt = now + a.alone
	return true
}

// Spend records the cost of a poll.
func (a *Agent) Spend(bytes int64) { a.spent += bytes }

// Spent is the total cost of polls in bytes.
func (a *Agent) Spent() int64 { return a.spent }

// Notices is the number of notifications sent, of PacketBytes each.
func (a *Agent) Notices() int64 { return a.notices }
