package collective

import (
	"container/heap"
	"math"
)

// player is one replay of a fluid.
type player struct {
	f       *fluid
	c       counterfactual
	out     played
	caps    []float64
	now     float64
	last    float64
	missing []int8 // steps that step i still waits for
	began   []float64
	events  fluidEvents
	active  []transfer
	left    []float64 // scratch: what ports have left, and how many flows want it
	wanting []int
}

// transfer is a flow under way: a step's, or a flow beside the collective.
type transfer struct {
	step, flow int32 // step -1: none
	left, rate float64
	most       float64 // its highest rate
	ports      []int32
}

type fluidEvents []fluidEvent

func (e fluidEvents) Len() int { return len(e) }
func (e fluidEvents) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].what < e[j].what
}
func (e fluidEvents) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push is for package heap.
func (e *fluidEvents) Push(x any) { *e = append(*e, x.(fluidEvent)) }

// Pop is for package heap.
func (e *fluidEvents) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}

func (p *player) run() {
	n := int32(len(p.f.t.steps))
	for at := range p.c.open {
		p.caps[at] = math.Inf(1)
	}
	p.left, p.wanting = make([]float64, len(p.caps)), make([]int, len(p.caps))
	for i := range p.f.t.steps {
		needs := p.f.needs(i)
		if p.missing[i] = int8(len(needs)); len(needs) == 0 {
			p.ready(int32(i), float64(p.f.t.first))
		}
	}
	for j := p.f.others; j < len(p.f.flows); j++ {
		if x := &p.f.flows[j]; !p.c.gone[x.s] && x.bytes > 0 {
			heap.Push(&p.events, fluidEvent{float64(x.begin), 2*n + int32(j)})
		}
	}
	for len(p.events) > 0 || len(p.active) > 0 {
		at, ended := p.next()
		for i := range p.active {
			p.active[i].left -= p.active[i].rate * (at - p.now)
		}
		if p.now = at; ended >= 0 {
			p.finish(ended)
		} else {
			p.take(heap.Pop(&p.events).(fluidEvent), n)
		}
	}
}

// next is when something happens next, and which transfer ends then; -1: none does.
func (p *player) next() (at float64, ended int) {
	at, ended = math.Inf(1), -1
	if len(p.events) > 0 {
		at = p.events[0].at
	}
	for i := range p.active {
		if end := p.now + max(p.active[i].left, 0)/p.active[i].rate; end < at {
			at, ended = end, i
		}
	}
	return max(at, p.now), ended
}

// ready has a step begin when its gap is over.
func (p *player) ready(i int32, at float64) {
	gap := float64(p.f.gap[i])
	if p.c.idle != nil {
		gap -= p.c.idle[i]
	}
	heap.Push(&p.events, fluidEvent{max(at+gap, p.now), i})
}

func (p *player) take(e fluidEvent, n int32) {
	switch {
	case e.what >= 2*n:
		x := &p.f.flows[e.what-2*n]
		t := transfer{step: -1, flow: e.what - 2*n, left: x.bytes, most: x.rate, ports: x.ports}
		if p.c.freed[x.s] {
			t.most = x.free
		}
		p.active = append(p.active, t)
	case e.what >= n:
		p.end(e.what - n)
		return
	default:
		p.begin(e.what, n)
	}
	p.share()
}

func (p *player) begin(i, n int32) {
	p.began[i] = p.now
	at := p.f.of[i]
	if at < 0 {
		heap.Push(&p.events, fluidEvent{p.now + p.extra(i), n + i})
		return
	}
	bytes := float64(max(p.f.t.steps[i].Bytes, 1))
	p.active = append(p.active, transfer{step: i, flow: at, left: bytes * p.f.scale[i], most: bytes / max(p.f.alone[i], 1), ports: p.f.flows[at].ports})
}

// extra is what step i has beyond its transfer.
func (p *player) extra(i int32) float64 {
	extra := p.f.extra[i]
	if p.c.less != nil {
		extra -= p.c.less[i]
	}
	return max(extra, 0)
}

func (p *player) finish(k int) {
	t := p.active[k]
	p.active[k] = p.active[len(p.active)-1]
	p.active = p.active[:len(p.active)-1]
	p.share()
	if t.step < 0 {
		p.out.ended[t.flow] = p.now
		return
	}
	p.out.moved[t.step] = p.now - p.began[t.step]
	healthy := min(p.f.alone[t.step], float64(p.f.t.end[t.step]-p.f.t.begin[t.step]))
	end := max(p.now+p.extra(t.step), p.began[t.step]+healthy)
	heap.Push(&p.events, fluidEvent{end, int32(len(p.f.t.steps)) + t.step})
}

func (p *player) end(i int32) {
	p.last = max(p.last, p.now)
	for _, next := range p.f.next[i] {
		if p.missing[next]--; p.missing[next] == 0 {
			p.ready(next, p.now)
		}
	}
}

// share gives each transfer its max-min fair rate: the port with the least for each flow
// first, flows that want less than that before.
func (p *player) share() {
	copy(p.left, p.caps)
	clear(p.wanting)
	for i := range p.active {
		p.active[i].rate = 0
		for _, at := range p.active[i].ports {
			p.wanting[at]++
		}
	}
	for fixed := 0; fixed < len(p.active); {
		least := math.Inf(1)
		for i := range p.active {
			if p.active[i].rate == 0 {
				least = min(least, p.fair(&p.active[i]))
			}
		}
		for i := range p.active {
			if t := &p.active[i]; t.rate == 0 && p.fair(t) <= least*(1+1e-9) {
				t.rate = max(least, 1e-9)
				fixed++
				for _, at := range t.ports {
					p.left[at] -= t.rate
					p.wanting[at]--
				}
			}
		}
	}
}

// fair is the highest rate that a transfer can have at its ports.
func (p *player) fair(t *transfer) float64 {
	rate := t.most
	for _, at := range t.ports {
		rate = min(rate, max(p.left[at], 0)/float64(p.wanting[at]))
	}
	return rate
}
