// Package safety decides what may act on a host: an allow-list says who may have
// what done where, and limits say how much of it. In go the configuration, orders
// and the time; out come permissions and refusals with reasons. Everything that
// acts (search, hostping, feedback) asks it; it carries out nothing itself, and
// without a configuration it allows nothing.
package safety

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Order is what the guard judges: the part of a command that says who wants what done where.
type Order struct {
	ID        string
	Principal string
	Kind      string
	Agent     string // the host that would carry it out
	AtNanos   int64  // when, ns since 1970
}

// Permission is what a rule allows of an order.
type Permission struct {
	RequireDrained bool
	RunTime        time.Duration // for which it may run, from now
}

// Reason classes a refusal, the label of a counter.
type Reason string

// Reasons of this package.
const (
	NotAllowed Reason = "not_allowed"  // no rule of the allow-list covers it
	OutOfHours Reason = "out_of_hours" // the rules that cover it do so at another hour of the day
	NotDrained Reason = "not_drained"  // its rule wants a drained host, and this one is in use
	TooMany    Reason = "too_many"     // as many run as may at a time
	TooOften   Reason = "too_often"    // as many have begun within an hour as may
	// What a kind refuses by what stands in its arguments.
	BadArguments Reason = "bad_arguments" // they make no sense, or ask for what is not here
	OverLimit    Reason = "over_limit"    // they ask for more than this host gives
	NotOffered   Reason = "not_offered"   // they name what the configuration of this host does not list
)

// Reasons lists them.
func Reasons() []Reason {
	return []Reason{NotAllowed, OutOfHours, NotDrained, TooMany, TooOften, BadArguments, OverLimit, NotOffered}
}

// Refusal is a no: the reason for a counter, the detail for the person who gave the order.
type Refusal struct {
	Reason Reason
	Detail string
}

// Refuse makes a refusal.
func Refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{reason, fmt.Sprintf(format, args...)}
}

func (r *Refusal) String() string { return r.Detail }

// Guard holds the allow-list and counts what runs. It is for one caller at a time.
type Guard struct {
	allow   []Rule
	limits  Limits
	running map[string]bool // ids
	starts  []int64         // ns, within the last hour, in order
}

// New makes a guard of a valid configuration.
func New(cfg Config) *Guard {
	return &Guard{allow: cfg.Allow, limits: cfg.Limits, running: map[string]bool{}}
}

// NewQuota makes a guard that has limits only: for what is harmless, and allowed to all who are known.
func NewQuota(limits Limits) *Guard { return New(Config{Limits: limits}) }

// Limits of the guard.
func (g *Guard) Limits() Limits { return g.limits }

// Allowed says what the rules that cover the order allow. Where several do, one that does not ask for a drained
// host goes before one that does, and then the one that lets it run for longer.
func (g *Guard) Allowed(o Order) (*Permission, *Refusal) {
	var best *Permission
	var late *Rule // covers it at another hour
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
		return nil, Refuse(OutOfHours, "%s may have %s done on %s from %s UTC only", o.Principal, o.Kind, o.Agent, strings.Join(late.Hours, ", "))
	}
	return nil, Refuse(NotAllowed, "%s may not have %s done on %s; command.allow of that agent lists what is allowed", o.Principal, o.Kind, o.Agent)
}

// Room says whether one more may begin now.
func (g *Guard) Room(nowNanos int64) *Refusal {
	if n := len(g.running); n >= g.limits.AtATime {
		return Refuse(TooMany, "%d run already, limits.at_a_time is %d; wait or cancel one", n, g.limits.AtATime)
	}
	g.forget(nowNanos)
	if n := len(g.starts); n >= g.limits.PerHour {
		next := time.Duration(g.starts[n-g.limits.PerHour] + int64(time.Hour) - nowNanos)
		return Refuse(TooOften, "%d have begun within an hour, limits.per_hour is %d; the next may begin in %v", n, g.limits.PerHour, next.Round(time.Second))
	}
	return nil
}

// Begin counts an order that begins; End must follow, however it ends.
func (g *Guard) Begin(id string, nowNanos int64) {
	g.running[id] = true
	g.Began(nowNanos)
}

// Began counts a start towards the hour alone: those of an earlier life of the process.
func (g *Guard) Began(nanos int64) {
	i, _ := slices.BinarySearch(g.starts, nanos)
	g.starts = slices.Insert(g.starts, i, nanos)
}

// End counts an order out.
func (g *Guard) End(id string) { delete(g.running, id) }

// forget drops the starts of more than an hour ago. One that seems to lie in the
// future, since the clock was set back, counts until it is an hour old.
func (g *Guard) forget(nowNanos int64) {
	old := 0
	for old < len(g.starts) && g.starts[old] <= nowNanos-int64(time.Hour) {
		old++
	}
	g.starts = slices.Delete(g.starts, 0, old)
}

// Matches says whether one of the patterns, of package path, fits the name. An invalid pattern fits nothing.
func Matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if pattern == "*" { // names may hold slashes
			return true
		}
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}
