package dispatch

import (
	"slices"
	"time"
)

// Day is the period of PolicyConfig.PerDay.
const Day = 24 * time.Hour

// Quota remembers what this process launched, as the store learns of it later, and applies the limits of a policy. T identifies
// what is not launched twice, such as a host. It is not safe for concurrent use.
type Quota[T comparable] struct {
	things   string // what is launched, in the plural
	setting  string // key of cfg
	cfg      PolicyConfig
	launched []launched[T] // oldest first
}

type launched[T comparable] struct {
	fabric string
	target T
	at     time.Time
}

// NewQuota returns a quota of which nothing is used.
func NewQuota[T comparable](things, setting string, cfg PolicyConfig) *Quota[T] {
	return &Quota[T]{things: things, setting: setting, cfg: cfg}
}

// Add records a launch at now.
func (q *Quota[T]) Add(fabric string, target T, now time.Time) {
	q.launched = append(q.launched, launched[T]{fabric, target, now})
}

// Again returns how long ago a target was launched; !is: not within PolicyConfig.AgainAfter.
func (q *Quota[T]) Again(fabric string, target T, now time.Time) (ago time.Duration, is bool) {
	for _, l := range slices.Backward(q.launched) {
		if ago := now.Sub(l.at); l.fabric == fabric && l.target == target {
			return ago, ago < q.cfg.AgainAfter
		}
	}
	return 0, false
}

// CheckDay refuses a launch beyond the limit of a day; stored is how many launches of the day the store has.
func (q *Quota[T]) CheckDay(fabric string, stored int, now time.Time) error {
	longest := max(q.cfg.AgainAfter, Day)
	q.launched = slices.DeleteFunc(q.launched, func(l launched[T]) bool { return now.Sub(l.at) >= longest })
	n := 0
	for _, l := range q.launched {
		if l.fabric == fabric && now.Sub(l.at) < Day {
			n++
		}
	}
	if n = max(n, stored); n >= q.cfg.PerDay {
		return Refuse(RefusedOften, "%d %s were launched within a day, %s.per_day is %d", n, q.things, q.setting, q.cfg.PerDay)
	}
	return nil
}
