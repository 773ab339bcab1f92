package policy

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/giverny/giverny/command/safety"
)

// Reason is why a node was not changed; it is a metric label.
type Reason string

// Reasons of this package.
const (
	NotAllowed Reason = "not_allowed" // not on the allow list
	TooMany    Reason = "too_many"    // max_nodes are marked already
	TooOften   Reason = "too_often"   // rate limit: per_minute nodes have been changed within a minute
)

// Reasons lists the reasons, for metrics.
func Reasons() []Reason { return []Reason{NotAllowed, TooMany, TooOften} }

// Score of a node, with the reason for it.
type Score struct {
	Node   string
	Score  float64 // 0 to 100
	Reason string
	Fabric string
}

// Refusal says why a node that should be changed was not.
type Refusal struct {
	Score
	Reason Reason
	Relief bool // the change is the relief of the node, else its mark
}

// Decision is what to do now.
type Decision struct {
	Mark    []Score   // the highest scores first
	Relieve []Score   // by name
	Refused []Refusal // by name; a node is listed once, and again only if the reason changes or it was resolved
	Pending int       // nodes that should be changed and are not in Mark or Relieve
}

// Policy remembers how long scores have been high or low. It is not safe for concurrent
// use.
type Policy struct {
	cfg     Config
	nodes   map[string]*node
	changes []int64 // ns, within the last minute, in order
	knownAt int64   // ns, of the newest scores; 0: none yet
	askedAt int64   // ns, since when scores are unknown; 0: they are known
	lost    bool    // scores have been unknown for RelieveUnknownAfter
}

// node is what is known of a node.
type node struct {
	Score
	aboveSince, belowSince int64  // ns; 0: it is not
	refused                Reason // why it was not marked
	delayed                bool   // its relief was refused
	barred                 Reason // why the scheduler could not mark it
	barredAt               int64  // ns
}

// New returns a policy for a valid configuration.
func New(cfg Config) *Policy { return &Policy{cfg: cfg, nodes: map[string]*node{}} }

// Observe takes the scores at an instant, for all nodes whose score is not 0. An
// instant that is not after the previous one changes no dwell time. One that is before it by RelieveUnknownAfter or more
// means that the clock was set back, and one that is after it by as much that it was set forward, or that nothing was known
// for as long: dwell times then begin again.
func (p *Policy) Observe(atNanos int64, scores []Score) {
	if apart := atNanos - p.knownAt; max(apart, -apart) >= int64(p.cfg.RelieveUnknownAfter) {
		p.knownAt = 0
	}
	if p.knownAt == 0 || p.lost { // earlier dwell times are void
		clear(p.nodes)
	}
	p.knownAt, p.askedAt, p.lost = max(p.knownAt, atNanos), 0, false
	seen := make(map[string]bool, len(scores))
	for _, s := range scores {
		n := p.nodes[s.Node]
		if n == nil {
			n = &node{}
			p.nodes[s.Node] = n
		}
		seen[s.Node] = true
		p.observe(n, atNanos, s)
	}
	for name, n := range p.nodes {
		if !seen[name] {
			p.observe(n, atNanos, Score{Node: name, Fabric: n.Fabric, Reason: "no congestion nearby"})
		}
	}
}

func (p *Policy) observe(n *node, atNanos int64, s Score) {
	n.Score = s
	since := func(old int64, holds bool) int64 {
		switch {
		case !holds:
			return 0
		case old == 0:
			return atNanos
		}
		return old
	}
	if n.aboveSince = since(n.aboveSince, s.Score >= p.cfg.RaiseAt); n.aboveSince == 0 {
		n.refused, n.barred = "", ""
	}
	if n.belowSince = since(n.belowSince, s.Score < p.cfg.LowerAt); n.belowSince == 0 {
		n.delayed = false
	}
}

// Unknown reports that the scores are unknown at an instant. Marks stay and dwell times
// stand still; after RelieveUnknownAfter nothing is marked and every mark is relieved.
func (p *Policy) Unknown(atNanos int64) {
	if p.askedAt == 0 {
		p.askedAt = cmp.Or(p.knownAt, atNanos)
	}
	p.askedAt = min(p.askedAt, atNanos) // the clock may have been set back
	p.lost = atNanos-p.askedAt >= int64(p.cfg.RelieveUnknownAfter)
}

// Decide says what to do now. marked has the marked nodes; false means that relief is
// in progress, and such nodes still count towards MaxNodes. Mark and Relieve count
// towards the rate limit.
func (p *Policy) Decide(nowNanos int64, marked map[string]bool) (d Decision) {
	p.forget(nowNanos)
	for _, s := range p.wantRelief(marked) {
		if p.room() {
			d.Relieve = append(d.Relieve, s)
			p.changes = append(p.changes, nowNanos)
			p.node(s).delayed = false
			continue
		}
		d.Pending++
		if n := p.node(s); !n.delayed {
			n.delayed = true
			d.Refused = append(d.Refused, Refusal{Score: s, Reason: TooOften, Relief: true})
		}
	}
	left := p.cfg.MaxNodes - len(marked) // nodes relieved now make room for the next decision
	for _, s := range p.wantMark(nowNanos, marked) {
		switch {
		case !safety.Matches(p.cfg.Allow, s.Node):
			p.refuse(&d, s, NotAllowed)
			continue
		case left <= 0:
			p.refuse(&d, s, TooMany)
		case !p.room():
			p.refuse(&d, s, TooOften)
		default:
			left--
			d.Mark = append(d.Mark, s)
			p.changes = append(p.changes, nowNanos)
			p.nodes[s.Node].refused = ""
			continue
		}
		d.Pending++
	}
	p.tidy(marked)
	return d
}

// barFor is how long a node that cannot be marked is not retried.
const barFor = time.Minute

// Unmarkable reports that a node that Decide just chose to mark cannot be marked: it does not count towards the rate
// limit and may be chosen again after barFor. It returns whether the reason is new.
func (p *Policy) Unmarkable(name string, reason Reason, nowNanos int64) (fresh bool) {
	p.Unmarked(nowNanos)
	n := p.nodes[name]
	if n == nil {
		return true
	}
	fresh = n.barred != reason
	n.barred, n.barredAt = reason, nowNanos
	return fresh
}

// Unmarked reports that a node that Decide just chose to mark was not attempted: it does not count towards the rate
// limit.
func (p *Policy) Unmarked(nowNanos int64) {
	if i := slices.Index(p.changes, nowNanos); i >= 0 {
		p.changes = slices.Delete(p.changes, i, i+1)
	}
}

// isBarred reports whether a node must not be tried now. If the clock was set back, it may be tried.
func (n *node) isBarred(nowNanos int64) bool {
	since := nowNanos - n.barredAt
	return n.barred != "" && since >= 0 && since < int64(barFor)
}

// wantRelief lists the marked nodes that should be relieved, by name.
func (p *Policy) wantRelief(marked map[string]bool) (list []Score) {
	for name, stands := range marked {
		n := p.nodes[name]
		switch {
		case !stands:
		case p.lost:
			list = append(list, Score{Node: name, Reason: "the state of the network has been unknown for too long"})
		case !safety.Matches(p.cfg.Allow, name):
			list = append(list, Score{Node: name, Reason: "no longer on the allow list"})
		case n == nil && p.knownAt != 0: // marked by an earlier process
			p.nodes[name] = &node{Score: Score{Node: name, Reason: "no congestion nearby"}, belowSince: p.knownAt}
		case n != nil && n.belowSince != 0 && p.knownAt-n.belowSince >= int64(p.cfg.LowerAfter):
			list = append(list, n.Score)
		}
	}
	slices.SortFunc(list, func(a, b Score) int { return strings.Compare(a.Node, b.Node) })
	return list
}

// wantMark lists the unmarked nodes that should be marked, the highest scores first.
func (p *Policy) wantMark(nowNanos int64, marked map[string]bool) (list []Score) {
	if p.lost {
		return nil
	}
	for name, n := range p.nodes {
		if _, busy := marked[name]; !busy && n.aboveSince != 0 && !n.isBarred(nowNanos) && p.knownAt-n.aboveSince >= int64(p.cfg.RaiseAfter) {
			list = append(list, n.Score)
		}
	}
	slices.SortFunc(list, func(a, b Score) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Node, b.Node))
	})
	return list
}

// refuse records the refusal of a mark, once for as long as it lasts.
func (p *Policy) refuse(d *Decision, s Score, reason Reason) {
	if n := p.node(s); n.refused != reason {
		n.refused = reason
		d.Refused = append(d.Refused, Refusal{Score: s, Reason: reason})
	}
}

// node returns what is known of a node, from now on at least this score.
func (p *Policy) node(s Score) *node {
	n := p.nodes[s.Node]
	if n == nil {
		n = &node{Score: s}
		p.nodes[s.Node] = n
	}
	return n
}

// room reports whether the rate limit allows another change.
func (p *Policy) room() bool { return len(p.changes) < p.cfg.PerMinute }

// forget drops changes more than a minute old or ahead. The latter are left by a clock that was set back; they would prevent
// reliefs for as long as the clock was ahead.
func (p *Policy) forget(nowNanos int64) {
	p.changes = slices.DeleteFunc(p.changes, func(at int64) bool { return at <= nowNanos-int64(time.Minute) || at > nowNanos+int64(time.Minute) })
}

// tidy deletes unmarked nodes with score 0.
func (p *Policy) tidy(marked map[string]bool) {
	for name, n := range p.nodes {
		if _, busy := marked[name]; !busy && n.Score.Score == 0 {
			delete(p.nodes, name)
		}
	}
}
