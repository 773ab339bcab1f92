package collective

import "github.com/giverny/giverny/collective/network"

// share is the part of one step's time that a culprit took.
type share struct {
	*listedEffect
	step  int32
	idle  bool // lost before the step began, not during it
	nanos int64
	most  int64 // upper bound of nanos; 0: nanos itself
}

// effect describes what a culprit did; many of its shares have the same one.
type effect struct {
	class      Class
	flow       string
	object     string
	confidence float64
	evidence   string
	inferred   bool         // from the behaviour of flows and queues, not from a direct record
	at         network.Port // of a collision: the port that is its object
}

// listedEffect is an entry in an analysis' list of effects.
type listedEffect struct {
	effect
	number int           // in that list
	next   *listedEffect // of the same class, flow and object; nil: none
}

// analysis divides the time that a run lost among culprits. What it knows of them it takes from the evidence.
type analysis struct {
	*evidence
	shares  map[string][]share
	effects map[face]*listedEffect // the newest of each face
	kinds   int                    // number of effects
	stop    func() bool            // see Options
	paced   map[int]float64        // slowdown factor of hosts that send too slowly
	open    []open                 // excess without a recorded cause
	noise   []open                 // small excess, such as rate control leaves behind
}

func newAnalysis(e *evidence) *analysis {
	return &analysis{evidence: e, shares: map[string][]share{}, effects: e.room.noEffects(), stop: func() bool { return false }}
}

type open struct {
	step  int32
	nanos int64
}

// blame explains the excess of every step.
func (a *analysis) blame() {
	if a.t.alike && len(a.tr.own) == 0 && len(a.t.steps) > 0 {
		healthy := a.base.of(0)
		for i, begin := range a.t.begin {
			if over := a.t.end[i] - begin - healthy; over > small(healthy) {
				a.explain(i, over)
			}
		}
	} else if !a.stop() {
		a.findPaced()
		for i := range a.t.steps {
			if excess := a.base.excess(i); excess > 0 {
				if a.stop() {
					return
				}
				if excess = a.atPace(i, excess); excess > 0 {
					a.explain(i, excess)
				}
			}
		}
	}
	for _, rest := range []func(){a.pacedByLink, a.behindSlow, a.borrow, a.commonLinks, a.atSources, a.stragglers, a.knockOn, a.spreadNoise} {
		if a.stop() {
			return
		}
		rest()
	}
}

// explain divides the excess of step i among its causes in proportion to their weights.
func (a *analysis) explain(i int, excess int64) {
	causes := a.causes(i, excess)
	sum := sumOf(causes)
	// Rate control reacts late and recovers slowly: a flow costs up to twice the time
	// that its bytes need. Any excess far beyond that has another cause.
	explained := excess
	if sum < float64(excess)/4 {
		explained = int64(2 * sum)
	}
	ofHosts := a.pauserShare(i, causes, excess, explained)
	for _, c := range causes {
		nanos := float64(explained) * c.weight / sum
		if c.class == SlowHost {
			c.most = int64(nanos)
			nanos *= ofHosts
		}
		if c.weight > 0 {
			a.give(c, int32(i), int64(nanos), false)
		}
	}
	if rest := excess - explained; rest > 0 {
		a.open = append(a.open, open{int32(i), rest})
	}
}

// pauserShare returns the part of the time taken by pausing hosts that step i would
// regain without them. Flows that share a port with the step would still take their
// time there, at most as long as the step itself, which gets half of the port or more.
// The rest cannot be attributed to either alone.
func (a *analysis) pauserShare(i int, causes []cause, excess, explained int64) float64 {
	flows, hosts := 0.0, 0.0
	for _, c := range causes {
		flows += min(c.unpaused, float64(a.base.of(i)))
		if c.class == SlowHost {
			hosts += c.weight
		}
	}
	if hosts == 0 || explained == 0 {
		return 1
	}
	took := float64(explained) * hosts / sumOf(causes)
	return min(1, max(float64(excess)-flows, 0)/took)
}

func (c *cause) effect() effect {
	return effect{c.class, c.flow, c.object, c.confidence, c.evidence, c.inferred, c.at}
}

func (a *analysis) give(c cause, step int32, nanos int64, idle bool) {
	shares, known := a.shares[c.who]
	if !known {
		shares = a.room.list()
	}
	s := share{step: step, idle: idle, nanos: nanos, most: c.most}
	if n := len(shares); n > 0 && shares[n-1].effect == c.effect() {
		s.listedEffect = shares[n-1].listedEffect
	} else {
		s.listedEffect = a.list(c.effect())
	}
	a.shares[c.who] = append(shares, s)
}

// list returns d's entry in the list of effects, adding it if new.
func (a *analysis) list(d effect) *listedEffect {
	f := face{d.class, d.flow, d.object}
	last := a.effects[f]
	for known := last; known != nil; known = known.next {
		if known.effect == d {
			return known
		}
	}
	a.effects[f] = &listedEffect{d, a.kinds, last}
	a.kinds++
	return a.effects[f]
}
