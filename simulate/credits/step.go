package credits

import "github.com/giverny/giverny/simulate/heap"

// pauseSpread is how much the pauses between exchanges differ, as a share: compute times vary.
const pauseSpread = .2

// Run advances the network by a number of steps.
func (n *Network) Run(steps int) {
	for range steps {
		n.step()
	}
}

// Reset sets all counts to zero, and forgets where waits began; the cells stay.
func (n *Network) Reset() {
	n.stats.Steps = 0
	clear(n.stats.Waited)
	clear(n.stats.Sent)
	clear(n.stats.Delivered)
	clear(n.stats.Ended)
	clear(n.stats.PeriodSteps)
	n.samples = n.samples[:0]
}

// Stats are the counts since the last Reset, valid until the next Run or Reset.
func (n *Network) Stats() *Stats { return &n.stats }

// step moves every cell by at most one hop. Its result does not depend on the order of the outputs: a buffer is filled by one
// channel only, and room that becomes free counts from the next step on.
func (n *Network) step() {
	for len(n.timers) > 0 && n.timers[0].Key <= n.now {
		n.begin(n.timers.Pop().Value)
	}
	for i := 0; i < len(n.active); {
		if o := n.active[i]; n.waiting[o] > 0 {
			n.serve(o)
			i++
			continue
		}
		n.listed[n.active[i]] = false
		n.active[i] = n.active[len(n.active)-1]
		n.active = n.active[:len(n.active)-1]
	}
	if n.now%sampleEvery == 0 {
		n.sample()
	}
	for _, h := range n.moved {
		n.put(h)
	}
	for _, b := range n.freed {
		n.occupied[b]--
	}
	n.moved, n.freed = n.moved[:0], n.freed[:0]
	n.now++
	n.stats.Steps++
}

// begin starts a round of an exchange, or a stream's next request.
func (n *Network) begin(u uint32) {
	x := &n.units[u]
	x.began, x.outstanding = n.now, 0
	for f := x.first + x.round; f < x.first+x.flows; f += x.rounds {
		n.left[f] = x.cells
		x.outstanding += x.cells
		n.put(n.first[f])
	}
	if x.round++; x.round == x.rounds {
		x.round = 0
	}
}

// put queues a cell, or a flow at its host.
func (n *Network) put(h int32) {
	t := &n.turns[n.hops[h].turn]
	at := t.head + t.many
	if at >= t.size {
		at -= t.size
	}
	n.ring[t.off+at] = h
	t.many++
	o := t.output
	n.waiting[o]++
	if !n.listed[o] {
		n.listed[o] = true
		n.active = append(n.active, o)
	}
}

// serve sends a cell over an output if its rate and the credits allow.
func (n *Network) serve(o int32) {
	isChannel := int(o) < n.channels
	rate := 0.
	if isChannel {
		rate = n.speeds.Channel[o]
	} else {
		rate = n.speeds.Receive[n.ports.device[int(o)-n.channels]]
	}
	if n.pacers[o].refill(n.now, rate) < 1 {
		return
	}
	first, many := n.turnOff[o], n.turnOff[o+1]-n.turnOff[o]
	full := int32(-1)
	for k := range many {
		at := n.next[o] + k
		if at >= many {
			at -= many
		}
		t := &n.turns[first+at]
		if t.many == 0 {
			continue
		}
		h := n.ring[t.off+t.head]
		if isChannel {
			if b := n.turns[n.hops[h+1].turn].input; n.occupied[b] >= bufferCells {
				full = b
				continue
			}
		}
		if n.take(t, h) {
			n.pacers[o].allowance--
			if n.next[o] = at + 1; n.next[o] == many {
				n.next[o] = 0
			}
			n.pass(o, h)
			return
		}
	}
	if full >= 0 {
		n.stats.Waited[o]++
		n.blocked[o] = blocking{n.now, full}
	}
}

// take removes the first cell of a turn; false if its host may not send yet.
func (n *Network) take(t *turn, h int32) bool {
	if int(t.input) < len(n.occupied) {
		n.freed = append(n.freed, t.input)
		n.drop(t)
		return true
	}
	port := int(t.input) - len(n.occupied)
	p := &n.senders[port]
	if p.refill(n.now, n.speeds.Send[n.ports.device[port]]) < 1 {
		return false
	}
	p.allowance--
	n.drop(t)
	f := n.hops[h].flow
	if n.left[f]--; n.left[f] > 0 { // behind the host's other flows; this step may not send it again
		n.moved = append(n.moved, h)
	}
	return true
}

func (n *Network) drop(t *turn) {
	if t.head++; t.head == t.size {
		t.head = 0
	}
	t.many--
	n.waiting[t.output]--
}

// pass moves a cell to its next hop, or delivers it.
func (n *Network) pass(o, h int32) {
	if int(o) < n.channels {
		n.stats.Sent[o]++
		n.occupied[n.turns[n.hops[h+1].turn].input]++
		n.moved = append(n.moved, h+1)
		return
	}
	u := n.unitOf[n.hops[h].flow]
	x := &n.units[u]
	n.stats.Delivered[x.work]++
	if x.outstanding--; x.outstanding > 0 {
		return
	}
	at := n.now + 1
	n.stats.Ended[x.work]++
	if lasted := float64(at - x.began); x.barrier {
		n.stats.PeriodSteps[x.work] += lasted + x.pause
	} else {
		n.stats.PeriodSteps[x.work] += max(lasted, x.pause)
	}
	if pause := x.pause * (1 + pauseSpread*(2*x.draw()-1)); x.barrier {
		at += int64(pause)
	} else {
		at = max(at, x.began+int64(pause))
	}
	n.timers.Push(heap.Item{Key: at, Tie: uint32(u), Value: uint32(u)})
}
