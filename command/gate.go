package command

import (
	"time"

	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/schema"
)

// Reasons for not executing a command, in addition to those of package safety.
const (
	Malformed        safety.Reason = "malformed"         // not a command, or over a size limit
	WrongFabric      safety.Reason = "wrong_fabric"      // in the partition of another fabric
	UnknownPrincipal safety.Reason = "unknown_principal" // no key is known for its principal
	BadSignature     safety.Reason = "bad_signature"     // not signed by the principal, or modified in transit
	Expired          safety.Reason = "expired"           // expired by this host's clock
	FromTheFuture    safety.Reason = "from_the_future"   // issued in the future by this host's clock
	TooLongValid     safety.Reason = "too_long_valid"    // valid for longer than max_validity
	NotForThis       safety.Reason = "not_for_this"      // for other targets
	Duplicate        safety.Reason = "duplicate"         // already judged (its id is the idempotency key)
	BeforeStart      safety.Reason = "before_start"      // issued before this agent began to remember
	UnknownKind      safety.Reason = "unknown_kind"      // no handler
	NoMemory         safety.Reason = "no_memory"         // cannot be remembered, so it could be executed twice
)

// Reasons lists all reasons of refusals.
func Reasons() []safety.Reason {
	return append([]safety.Reason{Malformed, WrongFabric, UnknownPrincipal, BadSignature, Expired, FromTheFuture, TooLongValid, NotForThis,
		Duplicate, BeforeStart, UnknownKind, NoMemory}, safety.Reasons()...)
}

// Kinds implemented by this package. Every known principal may use them: they change nothing on a host, and stopping
// something is always safe.
const (
	KindList    = schema.KindAgentsList
	KindRefresh = "agents.refresh"
	KindCancel  = "cancel"
)

// harmless reports whether a kind needs no rule of the allow-list.
func harmless(kind string) bool {
	return kind == KindList || kind == KindRefresh || kind == KindCancel
}

// harmlessLimits bound the kinds that the allow-list does not, against a principal's
// own mistakes.
var harmlessLimits = safety.Limits{AtATime: 4, PerHour: 3600, RunTime: time.Minute}

// gate checks commands. It does no I/O; its knowledge of the past is in memory.
type gate struct {
	agent, fabric string
	keys          Keyring
	tolerance     time.Duration
	maxValidity   time.Duration
	memory        *memory
	known         func(kind string) bool
	// judgeArguments asks the kind's handler; nil: the arguments are accepted.
	judgeArguments func(c *schema.Command) *safety.Refusal
	acting         *safety.Guard // for what the allow-list allows
	harmless       *safety.Guard
}

// verdict is the decision about a command.
type verdict struct {
	refusal *safety.Refusal      // nil: execute it
	status  schema.CommandStatus // of a refusal
	// silent refusals are not answered: the command is not for this agent, or already
	// answered.
	silent bool
	// authentic commands come from a known principal and are fresh; they are remembered.
	authentic bool
	drained   bool // only on a drained host
	runTime   time.Duration
}

func refuse(reason safety.Reason, format string, args ...any) verdict {
	return verdict{refusal: safety.Refuse(reason, format, args...), status: schema.CommandRefused}
}

func (v verdict) quietly() verdict { v.silent = true; return v }

// check decides on a well-formed command by fabric, signature, time, target, memory, kind, allow-list, arguments and
// limits. Dry runs go through all of it.
func (g *gate) check(c *schema.Command, now schema.Instant) verdict {
	if c.Fabric != g.fabric {
		return refuse(WrongFabric, "for fabric %q; this agent belongs to %q", c.Fabric, g.fabric).quietly()
	}
	mine := safety.Matches(c.Targets, g.agent)
	if v := g.doubts(c, now); v.refusal != nil {
		// For the id of a judged command, an answer would be taken as one to that command.
		v.silent = v.silent || !mine || g.memory.knows(c.ID)
		return v
	}
	if !mine {
		return refuse(NotForThis, "its targets do not include %s", g.agent).quietly()
	}
	v := g.permission(c, now)
	v.authentic = true
	return v
}

// doubts checks the command's principal and times.
func (g *gate) doubts(c *schema.Command, now schema.Instant) verdict {
	if no := g.keys.Verify(c); no != nil {
		return verdict{refusal: no, status: schema.CommandRefused}
	}
	if g.memory.knows(c.ID) {
		return refuse(Duplicate, "already carried out or refused").quietly()
	}
	if since := g.memory.content.Since; c.Issued < since {
		v := refuse(BeforeStart, "issued before %v, when the command record of %s begins", since, g.agent)
		if time.Duration(since-now) <= g.tolerance {
			return v.quietly()
		}
		v.refusal.Detail += ", because its clock was ahead; if the clock is right now, stop the agent, remove " + g.memory.path + " there, and start it"
		return v
	}
	if validity := time.Duration(c.Expires - c.Issued); validity > g.maxValidity {
		return refuse(TooLongValid, "valid for %v; command.max_validity of %s is %v", validity, g.agent, g.maxValidity)
	}
	if early := time.Duration(c.Issued - now); early > g.tolerance {
		return refuse(FromTheFuture, "issued %v in the future by the clock of %s (%v); synchronise its clock or the sender's", early, g.agent, now)
	}
	if late := time.Duration(now - c.Expires); late > g.tolerance {
		v := refuse(Expired, "expired %v ago by the clock of %s (%v); if it was just sent, synchronise that clock or the sender's", late, g.agent, now)
		v.status = schema.CommandExpired
		return v
	}
	return verdict{}
}

// permission checks the allow-list and the limits.
func (g *gate) permission(c *schema.Command, now schema.Instant) verdict {
	if !g.known(c.Kind) {
		return refuse(UnknownKind, "%s does not support %s; its source may be disabled there, or the version too old", g.agent, c.Kind)
	}
	if c.Kind == KindCancel { // no limit may prevent it
		return verdict{}
	}
	if harmless(c.Kind) {
		v := limited(g.harmless.Room(int64(now)))
		v.runTime = g.harmless.Limits().RunTime
		return v
	}
	allowed, no := g.acting.Allowed(safety.Order{Principal: c.Principal, Kind: c.Kind, Agent: g.agent, AtNanos: int64(now)})
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
	return verdict{refusal: no, status: schema.CommandRefused}
}

// guardOf returns the guard that counts a command. Dry runs count as harmless.
func (g *gate) guardOf(c *schema.Command) *safety.Guard {
	if harmless(c.Kind) || c.DryRun {
		return g.harmless
	}
	return g.acting
}
