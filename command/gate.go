package command

import (
	"time"

	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/schema"
)

// Reasons why a command is not carried out, besides those of package safety.
const (
	Malformed        safety.Reason = "malformed"         // not a command, or out of bounds
	WrongFabric      safety.Reason = "wrong_fabric"      // in the partition of another fabric
	UnknownPrincipal safety.Reason = "unknown_principal" // no key is known of who gave it
	BadSignature     safety.Reason = "bad_signature"     // not signed by the principal, or changed on the way
	Expired          safety.Reason = "expired"           // past its time by this host's clock
	FromTheFuture    safety.Reason = "from_the_future"   // issued later than now by this host's clock
	TooLongValid     safety.Reason = "too_long_valid"    // valid for longer than max_validity
	NotForThis       safety.Reason = "not_for_this"      // of other targets
	Duplicate        safety.Reason = "duplicate"         // judged before
	BeforeStart      safety.Reason = "before_start"      // issued before this agent began to remember
	UnknownKind      safety.Reason = "unknown_kind"      // no handler
	NoMemory         safety.Reason = "no_memory"         // cannot be remembered, and so could be carried out twice
)

// Reasons lists all reasons of refusals.
func Reasons() []safety.Reason {
	return append([]safety.Reason{Malformed, WrongFabric, UnknownPrincipal, BadSignature, Expired, FromTheFuture, TooLongValid, NotForThis,
		Duplicate, BeforeStart, UnknownKind, NoMemory}, safety.Reasons()...)
}

// Kinds that this package carries out itself. Every known principal may have them done: they change nothing
// on a host, and to stop something is always safe.
const (
	KindList    = schema.KindAgentsList
	KindRefresh = "agents.refresh"
	KindCancel  = "cancel"
)

// Harmless says whether a kind needs no rule of the allow-list.
func Harmless(kind string) bool {
	return kind == KindList || kind == KindRefresh || kind == KindCancel
}

// harmlessLimits bound what the allow-list does not: against a principal's own mistakes.
var harmlessLimits = safety.Limits{AtATime: 4, PerHour: 3600, RunTime: time.Minute}

// gate judges commands. It does no I/O; what it knows of the past is in the memory.
type gate struct {
	agent, fabric string
	keys          Keyring
	tolerance     time.Duration
	maxValidity   time.Duration
	memory        *memory
	known         func(kind string) bool
	// judgeArguments asks the kind's handler; nil: it has nothing against them.
	judgeArguments func(c *schema.Command) *safety.Refusal
	acting         *safety.Guard // what the allow-list allows
	harmless       *safety.Guard
}

// verdict is what becomes of a command.
type verdict struct {
	refusal *safety.Refusal // nil: carry it out
	status  schema.CommandStatus
	// silent refusals are not answered: they are no business of this agent, or answered already.
	silent bool
	// authentic commands come from a known principal and are fresh: they are remembered.
	authentic bool
	drained   bool // only on a drained host
	runTime   time.Duration
}

func refuse(reason safety.Reason, format string, args ...any) verdict {
	return verdict{refusal: safety.Refuse(reason, format, args...), status: schema.CommandRefused}
}

func (v verdict) quietly() verdict { v.silent = true; return v }

// check decides on a well-formed command by its fabric, signature, time, target, memory, kind, allow-list,
// arguments and limits, in this order. A dry run goes through all of it.
func (g *gate) check(c *schema.Command, now schema.Instant) verdict {
	if c.Fabric != g.fabric {
		return refuse(WrongFabric, "of fabric %q; this agent belongs to %q", c.Fabric, g.fabric).quietly()
	}
	mine := safety.Matches(c.Targets, g.agent)
	if v := g.doubts(c, now); v.refusal != nil {
		// Under the id of a command that was judged, an answer would count as one to that command.
		v.silent = v.silent || !mine || g.memory.knows(c.ID)
		return v
	}
	if !mine {
		return refuse(NotForThis, "its targets leave out %s", g.agent).quietly()
	}
	v := g.permission(c, now)
	v.authentic = true
	return v
}

// doubts are about who gave the command, and when.
func (g *gate) doubts(c *schema.Command, now schema.Instant) verdict {
	if no := g.keys.Verify(c); no != nil {
		return verdict{refusal: no, status: schema.CommandRefused}
	}
	if g.memory.knows(c.ID) {
		return refuse(Duplicate, "carried out or refused before").quietly()
	}
	if c.Issued < g.memory.content.Since {
		return refuse(BeforeStart, "issued before this agent began to remember commands").quietly()
	}
	if validity := time.Duration(c.Expires - c.Issued); validity > g.maxValidity {
		return refuse(TooLongValid, "valid for %v; command.max_validity of %s is %v", validity, g.agent, g.maxValidity)
	}
	if early := time.Duration(c.Issued - now); early > g.tolerance {
		return refuse(FromTheFuture, "issued %v after now by the clock of %s (%v); set its clock, or that of who gave the command", early, g.agent, now)
	}
	if late := time.Duration(now - c.Expires); late > g.tolerance {
		v := refuse(Expired, "expired %v ago by the clock of %s (%v); if it was sent just now, set that clock, or that of who gave the command", late, g.agent, now)
		v.status = schema.CommandExpired
		return v
	}
	return verdict{}
}

// permission asks the allow-list and the limits.
func (g *gate) permission(c *schema.Command, now schema.Instant) verdict {
	if !g.known(c.Kind) {
		return refuse(UnknownKind, "%s carries out no %s; a source or a version may be missing there", g.agent, c.Kind)
	}
	if Harmless(c.Kind) {
		v := limited(g.harmless.Room(int64(now)))
		v.runTime = g.harmless.Limits().RunTime
		return v
	}
	allowed, no := g.acting.Allowed(safety.Order{ID: c.ID, Principal: c.Principal, Kind: c.Kind, Agent: g.agent, AtNanos: int64(now)})
	if no == nil && g.judgeArguments != nil {
		no = g.judgeArguments(c)
	}
	if no != nil {
		return limited(no)
	}
	v := limited(g.acting.Room(int64(now)))
	if v.refusal == nil && c.DryRun {
		v = limited(g.harmless.Room(int64(now)))
	}
	v.drained, v.runTime = allowed.RequireDrained, allowed.RunTime
	if c.DryRun {
		v.runTime = g.harmless.Limits().RunTime
	}
	return v
}

func limited(no *safety.Refusal) verdict {
	if no == nil {
		return verdict{}
	}
	return verdict{refusal: no, status: schema.CommandRefused}
}

// guardOf counts a command: dry runs act no more than what is harmless.
func (g *gate) guardOf(c *schema.Command) *safety.Guard {
	if Harmless(c.Kind) || c.DryRun {
		return g.harmless
	}
	return g.acting
}
