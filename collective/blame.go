package collective

import "fmt"

// cause is why one step took longer: who, where, and its weight: the nanoseconds that
// it took of the step through the capacity it used.
type cause struct {
	who        string // the culprit's identity over all steps
	class      Class
	flow       string
	object     string
	weight     float64
	unpaused   float64 // of a background flow: its weight if nothing paused the port
	most       int64   // see share
	confidence float64
	evidence   string
	inferred   bool // from the behaviour of flows and queues, not from a direct record
	at         port // of a collision: the port that is its object
}

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
	inferred   bool // from the behaviour of flows and queues, not from a direct record
	at         port // of a collision: the port that is its object
}

// listedEffect is an entry in an analysis' list of effects.
type listedEffect struct {
	effect
	number int           // in that list
	next   *listedEffect // of the same class, flow and object; nil: none
}

// analysis is the state of one Diagnose call.
type analysis struct {
	t       *table
	tr      *traffic
	room    *scratch
	pauses  *pauses
	base    *baseline
	shares  map[string][]share
	effects map[face]*listedEffect // the newest of each face
	kinds   int                    // number of effects
	stop    func() bool            // see Options
	paced   map[int]float64        // slowdown factor of hosts that send too slowly
	open    []open                 // excess without a recorded cause
	noise   []open                 // small excess, such as rate control leaves behind

	answers
}

func newAnalysis(t *table, tr *traffic, room *scratch) *analysis {
	return &analysis{
		t: t, tr: tr, room: room, pauses: newPauses(t.run, tr, t.last), base: newBaseline(t, tr, t.channels),
		shares: map[string][]share{}, effects: room.noEffects(), stop: func() bool { return false },
		answers: answers{through: map[portSince]passage{}, beside: map[hostBeside]bool{}},
	}
}

// answers caches the results of repeated queries.
type answers struct {
	through map[portSince]passage // stepsThrough
	beside  map[hostBeside]bool   // healthyBeside
	slacks  []int64               // slack
}

type open struct {
	step  int32
	nanos int64
}

func (a *analysis) switchPort(p port) string { return a.words(p).name }

func (a *analysis) words(p port) *portWords {
	return a.tr.net.words(p)
}

func (a *analysis) host(node int) string { return "host " + a.tr.name(node) }

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

// slack returns the table's slack, computed once.
func (a *analysis) slack() []int64 {
	if a.slacks == nil {
		a.slacks = a.t.slack()
	}
	return a.slacks
}

// stream returns the flow that step i belongs to; nil where the hosts are unknown.
func (a *analysis) stream(i int) *stream {
	if len(a.tr.steps) == 0 {
		return nil
	}
	return a.tr.steps[i]
}

// causes returns the reasons for the excess of step i that the records show. Causes
// that are only possible (on one of several equal paths) count only if no certain one
// is known. The result is valid until the next call.
func (a *analysis) causes(i int, excess int64) []cause {
	s := a.stream(i)
	if s == nil {
		return nil
	}
	known := append(a.room.known[:0], a.slowLinks(i, a.tr.route(s).slowAt)...)
	known = a.contention(known, i, s, true)
	known = a.collisions(known, i, s, true)
	known = a.pausedBy(known, i, s, excess)
	a.room.known = known
	if sumOf(known) >= float64(excess)/4 {
		return known
	}
	if slow := a.slowPorts(i, s); len(slow) > 0 {
		return append(known, slow...)
	}
	if slow := a.stem(i, s, excess); len(slow) > 0 && len(known) == 0 {
		return slow
	}
	n := len(known)
	known = append(known, a.slowLinks(i, a.tr.route(s).maybeSlow)...)
	known = a.contention(known, i, s, false)
	known = a.collisions(known, i, s, false)
	for j := range known[n:] {
		known[n+j].confidence /= 2
	}
	a.room.known = known
	return known
}

func sumOf(causes []cause) float64 {
	sum := 0.0
	for _, c := range causes {
		sum += c.weight
	}
	return sum
}

// wireNanos is how long a payload of so many bytes occupies a port.
func (a *analysis) wireNanos(bytes int64, p port) float64 {
	rate := int64(0)
	if h, ok := a.tr.net.next(p); ok {
		rate = a.tr.net.Links[h.link].BitsPerSecond
	}
	if rate <= 0 {
		rate = a.tr.net.fastest
	}
	return float64(bytes) * 8 * wireFactor * ackFactor / float64(rate) * 1e9
}

// slowLinks returns the links on a step's path that run below their nominal rate.
func (a *analysis) slowLinks(i int, at []port) []cause {
	var out []cause
	for _, p := range at {
		h, _ := a.tr.net.next(p) // a port of a path has a link
		link := a.tr.net.Links[h.link]
		weight := a.wireNanos(a.t.steps[i].Bytes, p) * (1 - float64(link.BitsPerSecond)/float64(a.tr.net.nominal[h.link]))
		evidence := fmt.Sprintf("the link runs at %.3g of %.3g Gb/s", float64(link.BitsPerSecond)/1e9, float64(a.tr.net.nominal[h.link])/1e9)
		if link.ErrorRate > 0 {
			weight += float64(a.t.end[i] - a.t.begin[i] - a.base.of(i))
			evidence += fmt.Sprintf(", and loses %.3g%% of the packets", 100*link.ErrorRate)
		}
		place := p
		if !a.tr.net.Nodes[p.node].Switch {
			place = port{h.peer, h.peerPort}
		}
		out = append(out, cause{who: fmt.Sprint("link ", h.link), class: SlowLink, object: a.switchPort(place), weight: weight, confidence: 0.9, evidence: evidence})
	}
	return out
}
