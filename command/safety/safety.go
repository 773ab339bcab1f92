// Package safety decides what may act on a host: an allow-list says which principal may
// do what where, and limits bound how much. The input is the configuration, orders and
// the time; the output is permissions, and refusals with reasons. Everything that acts
// (search, hostping, feedback) must ask it. It executes nothing, and without a
// configuration it allows nothing.
package safety

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Order is what the guard judges: the part of a command that says who wants to do what
// where.
type Order struct {
	Principal string
	Kind      string
	Agent     string // the host that would execute it
	AtNanos   int64  // time, ns since 1970
}

// Permission is what a rule allows for an order.
type Permission struct {
	RequireDrained bool
	RunTime        time.Duration // maximum run time from now
}

// Reason classifies a refusal, as label of a counter.
type Reason string

// Reasons of this package.
const (
	NotAllowed Reason = "not_allowed"  // no rule of the allow-list covers it
	OutOfHours Reason = "out_of_hours" // the rules that cover it apply at other times of day
	NotDrained Reason = "not_drained"  // its rule requires a drained host, but this one is in use
	TooMany    Reason = "too_many"     // the limit of commands running at a time is reached
	TooOften   Reason = "too_often"    // the limit of commands begun per hour is reached
	// Refusals by a kind's handler due to the arguments.
	BadArguments Reason = "bad_arguments" // they are invalid, or name something that does not exist here
	OverLimit    Reason = "over_limit"    // they exceed a limit of this host
	NotOffered   Reason = "not_offered"   // they name something not in this host's configuration
)

// Reasons lists all reasons.
func Reasons() []Reason {
	return []Reason{NotAllowed, OutOfHours, NotDrained, TooMany, TooOften, BadArguments, OverLimit, NotOffered}
}

// Refusal has the reason for a counter, and the detail for the sender of the command.
type Refusal struct {
	Reason Reason
	Detail string
}

// Refuse returns a refusal.
func Refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{reason, fmt.Sprintf(format, args...)}
}

func (r *Refusal) String() string { return r.Detail }

// Guard holds the allow-list and counts running commands. It is not safe for concurrent use.
type Guard struct {
	allow   []Rule
	limits  Limits
	running map[string]bool // ids
	starts  []int64         // ns, within the last hour, in order
}

// New returns the guard for a valid configuration.
func New(cfg Config) *Guard {
	return &Guard{allow: cfg.Allow, limits: cfg.Limits, running: map[string]bool{}}
}

// NewQuota returns a guard with limits only: for harmless kinds, which every known principal may use.
func NewQuota(limits Limits) *Guard { return New(Config{Limits: limits}) }

// Limits returns the guard's limits.
func (g *Guard) Limits() Limits { return g.limits }

// Allowed returns what the rules that cover the order allow. If there are several, those that do not require a
// drained host take precedence, then the one with the longest run time.
func (g *Guard) Allowed(o Order) (*Permission, *Refusal) {
	var best *Permission
	var late *Rule // covers it at another time of day
	for i := range g.allow {
		r := &g.allow[i]
		if !r.covers(o) {
			continue
		}
		left, open := r.openFor(o.AtNanos)
		if !open {
			late = r
			continue
		}
		p := &Permission{r.RequireDrained, min(left, cmp.Or(r.RunTime, g.limits.RunTime))}
		if best == nil || best.RequireDrained && !p.RequireDrained || best.RequireDrained == p.RequireDrained && p.RunTime > best.RunTime {
			best = p
		}
	}
	switch {
	case best != nil:
		return best, nil
	case late != nil:
		return nil, Refuse(OutOfHours, "%s may run %s on %s only from %s UTC", o.Principal, o.Kind, o.Agent, strings.Join(late.Hours, ", "))
	}
	return nil, Refuse(NotAllowed, "%s may not run %s on %s; command.allow of that agent lists what is allowed", o.Principal, o.Kind, o.Agent)
}

// Room reports whether one more may begin now.
func (g *Guard) Room(nowNanos int64) *Refusal {
	if n := len(g.running); n >= g.limits.AtATime {
		return Refuse(TooMany, "%d are already running, limits.at_a_time is %d; wait or cancel one", n, g.limits.AtATime)
	}
	g.forget(nowNanos)
	if n := len(g.starts); n >= g.limits.PerHour {
		next := time.Duration(g.starts[n-g.limits.PerHour] + int64(time.Hour) - nowNanos)
		return Refuse(TooOften, "%d were started within the last hour, limits.per_hour is %d; retry in %v", n, g.limits.PerHour, next.Round(time.Second))
	}
	return nil
}

// Begin counts an order as running; End must follow, however it ends.
func (g *Guard) Begin(id string, nowNanos int64) {
	g.running[id] = true
	g.Began(nowNanos)
}

// Began counts a start only towards the hour, such as one of an earlier process.
func (g *Guard) Began(nanos int64) {
	i, _ := slices.BinarySearch(g.starts, nanos)
	g.starts = slices.Insert(g.starts, i, nanos)
}

// End removes an order from the running ones.
func (g *Guard) End(id string) { delete(g.running, id) }

// forget drops starts of more than an hour ago. A start in the future, because the
// clock was set back, counts until it is an hour old.
func (g *Guard) forget(nowNanos int64) {
	old := 0
	for old < len(g.starts) && g.starts[old] <= nowNanos-int64(time.Hour) {
		old++
	}
	g.starts = slices.Delete(g.starts, 0, old)
}

// Matches reports whether one of the patterns, of package path, matches the name. Invalid patterns match nothing.
func Matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if pattern == "*" { // names may contain slashes
			return true
		}
		ok, _ := path.Match(pattern, name)
		return ok
	})
}
