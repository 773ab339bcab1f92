package packet

// sender is the sending side of a NIC.
type sender struct {
	first, last int32   // queue of waiting transfers
	active      []int32 // transfers being served, in turn
	turn        int     // index in active
	resend      int32   // lost packets to retransmit
	inDMA       int32   // packets in DMA
	queued      int64   // bytes in DMA or waiting for the first channel
	full        bool    // DMA waits for room in the NIC
	pumpAt      Time    // of the next atPump, or Never
	lastEnd     Time    // packets leave DMA in the order they entered
}

// senders are the sending sides of all NICs: they serve their transfers in turn, move
// packets into the NIC by DMA, and queue them for the first channel.
type senders struct {
	*clock
	*observers
	*packets
	cfg       Config
	transfers *transfers
	paths     *paths
	fabric    *fabric
	dmas      *dmas
	flows     *flows
	nics      []sender
}

func newSenders(s *Sim) *senders {
	n := &senders{clock: s.clock, observers: s.observers, packets: &s.fabric.packets, cfg: s.cfg, transfers: s.transfers,
		paths: s.paths, fabric: s.fabric, dmas: s.dmas, flows: s.flows, nics: make([]sender, s.paths.graph.NumDevices())}
	for i := range n.nics {
		n.nics[i] = sender{first: none, last: none, resend: none, pumpAt: Never}
	}
	return n
}

// submit queues a transfer at the NIC that sends its data.
func (n *senders) submit(id int32, at Time) {
	t := &n.transfers.all[id]
	t.eligible = at
	if t.bytes > n.cfg.InlineBytes || t.verb == Get {
		t.eligible += Nanos(n.cfg.DMASetupNanos)
	}
	s := &n.nics[t.src]
	if s.last == none {
		s.first = id
	} else {
		n.transfers.all[s.last].next = id
	}
	s.last = id
	n.pump(t.src)
}

func (n *senders) pumpDue(node int32) {
	if s := &n.nics[node]; s.pumpAt == n.now {
		s.pumpAt = Never
		n.pump(node)
	}
}

func (n *senders) pumpLater(node int32, at Time) {
	if s := &n.nics[node]; s.pumpAt > at {
		s.pumpAt = at
		n.at(at, atPump, node)
	}
}

// left records that bytes have left a NIC's queue.
func (n *senders) left(node int32, bytes int64) {
	s := &n.nics[node]
	s.queued -= bytes
	if s.full {
		s.full = false
		n.pumpLater(node, n.now)
	}
}

// pump starts DMAs while there are free channels and packets to send.
func (n *senders) pump(node int32) {
	s := &n.nics[node]
	for {
		if s.first == none && len(s.active) == 0 && s.resend == none {
			return
		}
		if limit := n.cfg.NICBufferBytes; limit > 0 && s.queued+n.cfg.PacketBytes+n.cfg.HeaderBytes > limit {
			s.full = true
			return
		}
		slot := n.dmas.soonest(node, sending)
		if free := n.dmas.free[slot]; free > n.now {
			if s.inDMA == 0 || n.cfg.DMAChunkBytes > 0 {
				n.pumpLater(node, free)
			} // otherwise the end of a DMA pumps again
			return
		}
		if i := s.resend; i != none {
			s.resend = n.pkts[i].next
			n.startDMA(node, slot, i)
			continue
		}
		place, at := n.pick(s)
		if place < 0 {
			n.pumpLater(node, at)
			return
		}
		n.startDMA(node, slot, n.nextPacket(s, place))
	}
}

// pick chooses round-robin among the active transfers that may send now; if there is
// none it returns -1 and the next time at which one may.
func (n *senders) pick(s *sender) (int, Time) {
	for s.first != none && len(s.active) < n.cfg.ActivePuts {
		id := s.first
		s.first = n.transfers.all[id].next
		if s.first == none {
			s.last = none
		}
		s.active = append(s.active, id)
	}
	soonest := Never
	for k := range s.active {
		place := s.turn + k
		if place >= len(s.active) {
			place -= len(s.active)
		}
		t := &n.transfers.all[s.active[place]]
		if n.windowFull(t) {
			continue // the next acknowledgement pumps
		}
		at := t.eligible
		if at <= n.now {
			return place, at
		}
		soonest = min(soonest, at)
	}
	return -1, soonest
}

// windowFull reports whether a put has to wait for an acknowledgement.
func (n *senders) windowFull(t *transfer) bool {
	w := n.cfg.WindowBytes
	if w == 0 || t.verb != Put || t.src == t.dst || t.state != underway {
		return false
	}
	if n.cfg.Rate.Enabled {
		w = n.flows.window(t, w)
	}
	return t.inFlight > 0 && t.inFlight >= w
}

// nextPacket creates the next packet of an active transfer.
func (n *senders) nextPacket(s *sender, place int) int32 {
	id := s.active[place]
	t := &n.transfers.all[id]
	size := min(t.unsent, n.cfg.PacketBytes)
	t.unsent -= size
	t.inFlight += size
	if !t.started {
		t.started, t.DMAStart = true, n.now
	}
	if t.unsent == 0 {
		s.active = append(s.active[:place], s.active[place+1:]...)
		s.turn = place
	} else {
		s.turn = place + 1
	}
	if s.turn >= len(s.active) {
		s.turn = 0
	}
	wire := size + n.cfg.HeaderBytes
	if n.cfg.Rate.Enabled && t.src != t.dst {
		n.flows.throttle(t, wire)
	}
	return n.newPacket(pkt{transfer: id, next: none, size: int32(size), wire: int32(wire), role: payload})
}

func (n *senders) startDMA(node, slot, i int32) {
	s := &n.nics[node]
	p := &n.pkts[i]
	t := &n.transfers.all[p.transfer]
	end := max(n.now+n.fetch(node, t, int64(p.size)), s.lastEnd)
	s.lastEnd, n.dmas.free[slot] = end, end
	s.inDMA++
	if n.watch.Sent != nil && p.role == payload {
		n.watch.Sent(TransferID(p.transfer), p.size)
	}
	ready := end
	if t.src != t.dst {
		s.queued += int64(p.wire)
		ready = n.early(t, p, end)
	}
	p.tail = end
	n.at(ready, atDMADone, i)
}

// fetch is how long it takes to move a packet's data into the NIC: by DMA, or written
// by the processor in lines, of which the first is part of every doorbell.
func (n *senders) fetch(node int32, t *transfer, size int64) Time {
	if t.verb == Put && t.bytes <= n.cfg.InlineBytes && t.src != t.dst {
		lines := (size + n.cfg.InlineHeader + n.cfg.InlineLineBytes - 1) / n.cfg.InlineLineBytes
		return Nanos(float64(lines-1) * n.cfg.InlineLineNanos)
	}
	return n.dmas.duration(node, sending, size)
}

// early is when a packet may leave: if the NIC sends during DMA, as soon as a chunk is
// available and the link will never wait for the next.
func (n *senders) early(t *transfer, p *pkt, end Time) Time {
	if !n.dmas.chunked(p) || !n.paths.ofData(t) {
		return end
	}
	onLink, inDMA := n.dmas.overlap(p, n.fabric.channels[n.paths.first(t.path)].pace)
	return min(end, max(n.now+inDMA, end+onLink))
}

// inject queues a packet whose DMA is done for the NIC's first channel; an intra-node
// one has arrived.
func (n *senders) inject(i int32) {
	p := &n.pkts[i]
	t := &n.transfers.all[p.transfer]
	node := t.src
	n.nics[node].inDMA--
	switch {
	case t.src == t.dst:
		t.pending--
		id := p.transfer
		n.freePacket(i)
		if t.pending == 0 {
			n.transfers.arrived(id)
			n.transfers.confirm(id)
		}
	case n.paths.ofData(t):
		p.path = t.path
		n.fabric.depart(node, i)
	default:
		n.nics[node].queued -= int64(p.wire)
		n.fabric.drop(i, none, NoRoute)
	}
	n.pump(node)
}

// sendControl sends a control packet from the receiver of a transfer's data to the
// sender. It uses no DMA.
func (n *senders) sendControl(id int32, r role) {
	n.launch(n.newPacket(pkt{transfer: id, next: none, wire: int32(n.cfg.ControlBytes), role: r}))
}

// acknowledge acknowledges a packet of so many bytes, and echoes its mark as a
// congestion notification.
func (n *senders) acknowledge(id, bytes int32, marked bool) {
	echo := marked && n.flows.mayNotify(&n.transfers.all[id])
	n.launch(n.newPacket(pkt{transfer: id, next: none, size: bytes, wire: int32(n.cfg.AckBytes), role: acknowledgement, marked: echo}))
}

// launch queues a control packet.
func (n *senders) launch(i int32) {
	p := &n.pkts[i]
	t := &n.transfers.all[p.transfer]
	if !n.paths.ofControl(t) {
		n.fabric.drop(i, none, NoRoute)
		return
	}
	p.path = t.controlPath
	n.nics[t.dst].queued += int64(p.wire)
	n.fabric.depart(t.dst, i)
}

// retransmit sends a lost packet again, from the start.
func (n *senders) retransmit(i int32) {
	p := &n.pkts[i]
	if p.role != payload {
		n.launch(i)
		return
	}
	node := n.transfers.all[p.transfer].src
	s := &n.nics[node]
	p.next = s.resend
	s.resend = i
	n.pump(node)
}

// acknowledged processes an acknowledgement.
func (n *senders) acknowledged(id int32, p *pkt) {
	t := &n.transfers.all[id]
	t.inFlight -= int64(p.size)
	if p.marked {
		n.flows.notified(t)
	}
	if t.unacked--; t.unacked == 0 && t.state == underway {
		n.transfers.confirm(id)
	}
	if n.cfg.WindowBytes > 0 {
		n.pumpLater(t.src, n.now)
	}
}
