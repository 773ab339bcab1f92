package packet

// nic is the sending side of a node; its DMA channels are in Sim.dmaFree.
type nic struct {
	first, last int32      // queued transfers
	active      []int32    // transfers served in turn
	turn        int        // index into active
	resend      int32      // lost packets to be retransmitted
	inDMA       int32      // packets whose DMA is in progress
	queued      int64      // bytes in DMA or waiting for the first channel
	full        bool       // DMA is waiting for room in the NIC
	pumpAt      Time       // of the next atPump, or Never
	lastEnd     Time       // end of the last DMA: packets leave DMA in order
	lastServed  int32      // transfer
	carry       [2]float64 // fractions of DMA times, sending and receiving
	dma         pace       // of one DMA channel
}

func (s *Sim) makeNICs() {
	s.nics = make([]nic, s.graph.NumDevices())
	for i := range s.nics {
		s.nics[i] = nic{first: none, last: none, resend: none, pumpAt: Never, lastServed: none, dma: s.dma}
	}
	s.dmaFree = make([]Time, len(s.nics)*2*s.cfg.DMAChannels)
}

// submit queues a transfer at the NIC that sends its data.
func (s *Sim) submit(id int32, at Time) {
	t := &s.transfers[id]
	t.eligible = at
	if t.bytes > s.cfg.InlineBytes || t.verb == Get {
		t.eligible += Nanos(s.cfg.DMASetupNanos)
	}
	n := &s.nics[t.src]
	if n.last == none {
		n.first = id
	} else {
		s.transfers[n.last].next = id
	}
	n.last = id
	s.pump(t.src)
}

func (s *Sim) pumpDue(node int32) {
	if n := &s.nics[node]; n.pumpAt == s.now {
		n.pumpAt = Never
		s.pump(node)
	}
}

func (s *Sim) pumpLater(node int32, at Time) {
	if n := &s.nics[node]; n.pumpAt > at {
		n.pumpAt = at
		s.queue.push(at, atPump, node)
	}
}

// nicRoom records that bytes have left a NIC's queue.
func (s *Sim) nicRoom(node int32, bytes int64) {
	n := &s.nics[node]
	n.queued -= bytes
	if n.full {
		n.full = false
		s.pumpLater(node, s.now)
	}
}

// pump starts as many DMAs as there are free channels and packets to send.
func (s *Sim) pump(node int32) {
	n := &s.nics[node]
	for {
		if n.first == none && len(n.active) == 0 && n.resend == none {
			return
		}
		if limit := s.cfg.NICBufferBytes; limit > 0 && n.queued+s.cfg.PacketBytes+s.cfg.HeaderBytes > limit {
			n.full = true
			return
		}
		slot := s.dmaSlot(node, 0)
		if free := s.dmaFree[slot]; free > s.now {
			if n.inDMA == 0 || s.cfg.DMAChunkBytes > 0 {
				s.pumpLater(node, free)
			} // otherwise the end of a DMA pumps again
			return
		}
		if i := n.resend; i != none {
			n.resend = s.pkts[i].next
			s.startDMA(node, slot, i)
			continue
		}
		place, at := s.pick(n)
		if place < 0 {
			s.pumpLater(node, at)
			return
		}
		s.startDMA(node, slot, s.nextPacket(n, place))
	}
}

// dmaSlot returns a node's DMA channel that is free first; side 0 sends, 1 receives.
func (s *Sim) dmaSlot(node int32, side int) int32 {
	k := s.cfg.DMAChannels
	if s.cfg.SharedDMA {
		side = 0
	}
	first := (int(node)*2 + side) * k
	best := first
	for i := first + 1; i < first+k; i++ {
		if s.dmaFree[i] < s.dmaFree[best] {
			best = i
		}
	}
	return int32(best)
}

// pick chooses round-robin among the active transfers that may send now; if there is
// none, it returns -1 and the next time at which one may.
func (s *Sim) pick(n *nic) (int, Time) {
	for n.first != none && len(n.active) < s.cfg.ActivePuts {
		id := n.first
		n.first = s.transfers[id].next
		if n.first == none {
			n.last = none
		}
		n.active = append(n.active, id)
	}
	soonest := Never
	for k := range n.active {
		place := n.turn + k
		if place >= len(n.active) {
			place -= len(n.active)
		}
		t := &s.transfers[n.active[place]]
		if s.windowFull(t) {
			continue // the next acknowledgement calls pump
		}
		at := t.eligible
		if at <= s.now {
			return place, at
		}
		soonest = min(soonest, at)
	}
	return -1, soonest
}

// windowFull reports whether a put must wait for an acknowledgement. The window shrinks
// with the rate, so that it never limits a lone flow.
func (s *Sim) windowFull(t *transfer) bool {
	w := s.cfg.WindowBytes
	if w == 0 || t.verb != Put || t.src == t.dst || t.state != underway {
		return false
	}
	if s.cfg.Rate.Enabled {
		if f := s.flowFor(t); f.rate > 0 {
			w = int64(float64(w) * f.rate / f.line)
		}
	}
	return t.inFlight > 0 && t.inFlight >= w
}

// nextPacket takes the next packet of an active transfer.
func (s *Sim) nextPacket(n *nic, place int) int32 {
	id := n.active[place]
	t := &s.transfers[id]
	size := min(t.unsent, s.cfg.PacketBytes)
	t.unsent -= size
	t.inFlight += size
	if !t.started {
		t.started, t.DMAStart = true, s.now
	}
	if t.unsent == 0 {
		n.active = append(n.active[:place], n.active[place+1:]...)
		n.turn = place
	} else {
		n.turn = place + 1
	}
	if n.turn >= len(n.active) {
		n.turn = 0
	}
	wire := size + s.cfg.HeaderBytes
	if s.cfg.Rate.Enabled && t.src != t.dst {
		s.throttle(t, wire)
	}
	return s.newPacket(pkt{transfer: id, next: none, size: int32(size), wire: int32(wire), role: payload})
}

func (s *Sim) startDMA(node, slot, i int32) {
	n := &s.nics[node]
	p := &s.pkts[i]
	t := &s.transfers[p.transfer]
	end := s.now + s.fetch(n, t, int64(p.size))
	end = max(end, n.lastEnd)
	n.lastEnd, s.dmaFree[slot] = end, end
	n.inDMA++
	if s.watch.Sent != nil && p.role == payload {
		s.watch.Sent(TransferID(p.transfer), p.size)
	}
	ready := end
	if t.src != t.dst {
		n.queued += int64(p.wire)
		ready = s.early(t, p, end)
	}
	p.tail = end
	s.queue.push(ready, atDMADone, i)
}

// fetch is the time to get a packet's data into the NIC: by DMA, or written by the
// processor in lines, the first of which is part of every doorbell.
func (s *Sim) fetch(n *nic, t *transfer, size int64) Time {
	if t.verb == Put && t.bytes <= s.cfg.InlineBytes && t.src != t.dst {
		lines := (size + s.cfg.InlineHeader + s.cfg.InlineLineBytes - 1) / s.cfg.InlineLineBytes
		return Nanos(float64(lines-1) * s.cfg.InlineLineNanos)
	}
	return n.dma.next(size, &n.carry[0])
}

// early is when a packet may leave: if the NIC sends during DMA, as soon as a chunk is
// there and the link will never have to wait for the next one.
func (s *Sim) early(t *transfer, p *pkt, end Time) Time {
	chunk := min(s.cfg.DMAChunkBytes, int64(p.size))
	if chunk == 0 || !s.direct(t) {
		return end
	}
	link := s.channels[s.hops[t.path.at]>>s.shift].pace
	return min(end, max(s.now+s.dma.of(chunk), end+link.of(chunk)-link.of(int64(p.wire))))
}

// inject queues a packet after its DMA for the NIC's first channel; an intra-node
// packet has already arrived.
func (s *Sim) inject(i int32) {
	p := &s.pkts[i]
	t := &s.transfers[p.transfer]
	node := t.src
	s.nics[node].inDMA--
	switch {
	case t.src == t.dst:
		t.pending--
		id := p.transfer
		s.freePacket(i)
		if t.pending == 0 {
			s.delivered(id)
		}
	case s.direct(t):
		p.path = t.path
		s.depart(node, i)
	default:
		s.nics[node].queued -= int64(p.wire)
		s.lose(i, none, NoRoute)
	}
	s.pump(node)
}

// direct ensures that a transfer has a path that avoids failures.
func (s *Sim) direct(t *transfer) bool {
	if t.path.hops == 0 || t.path.version != s.version {
		path, ok := s.route(t.src, t.dst, t)
		if !ok {
			return false
		}
		t.path = path
	}
	return true
}

// depart puts a routed packet into its NIC's queue.
func (s *Sim) depart(node, i int32) {
	p := &s.pkts[i]
	s.setHop(p, 0)
	p.from = (int32(len(s.channels))+node)<<s.shift | p.lane&int32(s.lanes-1)
	s.enqueue(p.from, i)
}

// sendControl sends a control packet from the NIC that receives a transfer's data to
// the sender. It needs no DMA.
func (s *Sim) sendControl(id int32, r role) {
	s.launch(s.newPacket(pkt{transfer: id, next: none, wire: int32(s.cfg.ControlBytes), role: r}))
}

// acknowledge acknowledges a packet of so many bytes, and echoes its mark as a
// congestion notification.
func (s *Sim) acknowledge(id, bytes int32, marked bool) {
	echo := marked && s.notify(&s.transfers[id])
	s.launch(s.newPacket(pkt{transfer: id, next: none, size: bytes, wire: int32(s.cfg.AckBytes), role: acknowledgement, marked: echo}))
}

func (s *Sim) launch(i int32) {
	p := &s.pkts[i]
	t := &s.transfers[p.transfer]
	if t.controlPath.hops == 0 || t.controlPath.version != s.version {
		path, ok := s.route(t.dst, t.src, t)
		if !ok {
			s.lose(i, none, NoRoute)
			return
		}
		t.controlPath = path
	}
	p.path = t.controlPath
	s.nics[t.dst].queued += int64(p.wire)
	s.depart(t.dst, i)
}

// receive processes a packet whose tail has reached its last NIC.
func (s *Sim) receive(i int32) {
	p := &s.pkts[i]
	lane := p.lane
	ch := lane >> s.shift
	switch {
	case p.epoch != s.channels[ch].epoch || p.torn:
		s.lose(i, ch, LostOnLink)
		return
	case s.cfg.FlowControl == PFC && !s.admit(lane, int64(p.wire)):
		s.lose(i, ch, BufferFull)
		return
	}
	until := s.now
	id := p.transfer
	t := &s.transfers[id]
	switch p.role {
	case payload:
		until = s.store(t, p, ch)
	case completion:
		if t.state == underway {
			s.later(s.overhead, atCompleted, id)
		}
	case getRequest:
		s.submit(id, s.now)
	case notification:
		s.flowFor(t).notified(&s.cfg.Rate, s.now)
	case acknowledgement:
		s.acknowledged(id, p)
	}
	p = &s.pkts[i]
	s.release(lane, int64(p.wire), until)
	s.freePacket(i)
}

// acknowledged processes an acknowledgement at the sender.
func (s *Sim) acknowledged(id int32, p *pkt) {
	t := &s.transfers[id]
	t.inFlight -= int64(p.size)
	if p.marked {
		s.flowFor(t).notified(&s.cfg.Rate, s.now)
	}
	if t.unacked--; t.unacked == 0 && t.state == underway {
		s.later(s.overhead, atCompleted, id)
	}
	if s.cfg.WindowBytes > 0 {
		s.pumpLater(t.src, s.now)
	}
}

// store moves a packet into memory and returns when that ends.
func (s *Sim) store(t *transfer, p *pkt, ch int32) Time {
	slot := s.dmaSlot(t.dst, 1)
	begin, end := s.now, s.now
	if chunk := min(s.cfg.DMAChunkBytes, int64(p.size)); chunk > 0 {
		link := s.channels[ch].pace
		begin += link.of(chunk) - link.of(int64(p.wire))
		end += s.dma.of(chunk)
	}
	n := &s.nics[t.dst]
	if free := s.dmaFree[slot]; free > begin {
		s.blame(p.transfer, n.lastServed, free-begin, OnReceive)
		begin = free
	}
	n.lastServed = p.transfer
	if s.watch.Received != nil {
		s.watch.Received(TransferID(p.transfer), p.size)
	}
	end = max(end, begin+n.dma.next(int64(p.size), &n.carry[1]))
	s.dmaFree[slot] = end
	t.pending--
	t.arriving = max(t.arriving, end)
	if t.pending == 0 {
		s.queue.push(t.arriving, atDelivered, p.transfer)
	}
	switch {
	case s.cfg.AckBytes == 0 || t.verb == Get:
		if p.marked && s.notify(t) {
			s.sendControl(p.transfer, notification)
		}
	case t.pending > 0:
		s.acknowledge(p.transfer, p.size, p.marked)
	default:
		t.echo = p.marked // delivered sends the acknowledgement
	}
	return end
}
