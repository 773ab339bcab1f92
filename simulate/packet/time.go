package packet

import "math"

// Time is an instant or a duration in femtoseconds. As an int64 it covers two and a
// half hours and keeps the rounding error of a thousand packets below a picosecond.
type Time int64

// Units of Time.
const (
	Nanosecond  Time = 1e6
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
)

// Never is later than everything.
const Never Time = math.MaxInt64

// horizon is the latest time that can be scheduled.
const horizon = 7200 * Second

// Nanos converts nanoseconds to a Time.
func Nanos(ns float64) Time { return Time(math.Round(ns * float64(Nanosecond))) }

// Nanoseconds is t in nanoseconds.
func (t Time) Nanoseconds() float64 { return float64(t) / float64(Nanosecond) }

// pace is a rate in femtoseconds per byte; 0 is infinitely fast.
type pace float64

func paceOf(gigabytesPerSecond float64) pace { return pace(1e6 / gigabytesPerSecond) }

// of is the duration of bytes.
func (p pace) of(bytes int64) Time { return Time(float64(bytes)*float64(p) + 0.5) }

// next is of with the rounding error carried to the next call, so that many packets
// take as long as one of their total size.
func (p pace) next(bytes int64, carry *float64) Time {
	exact := float64(float64(bytes)*float64(p)) + *carry
	t := math.Floor(exact + 0.5)
	*carry = exact - t
	return Time(t)
}
