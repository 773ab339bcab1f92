package packet

// receivers are the receiving sides of all NICs: they move data into memory by DMA, and
// answer to the sender.
type receivers struct {
	*clock
	*observers
	*packets
	cfg       Config
	transfers *transfers
	fabric    *fabric
	dmas      *dmas
	flows     *flows
	senders   *senders
	served    []int32 // by NIC: transfer whose packet was moved into memory last
}

func newReceivers(s *Sim) *receivers {
	n := &receivers{clock: s.clock, observers: s.observers, packets: &s.fabric.packets, cfg: s.cfg, transfers: s.transfers,
		fabric: s.fabric, dmas: s.dmas, flows: s.flows, senders: s.senders, served: make([]int32, s.paths.graph.NumDevices())}
	for i := range n.served {
		n.served[i] = none
	}
	return n
}

// receive processes a packet whose tail has reached its last NIC.
func (n *receivers) receive(i int32) {
	p := &n.pkts[i]
	lane := p.lane
	ch := n.fabric.channel(lane)
	if !n.fabric.arrive(i, p.torn || p.epoch != n.fabric.channels[ch].epoch) {
		return
	}
	until := n.now
	id := p.transfer
	t := &n.transfers.all[id]
	switch p.role {
	case payload:
		until = n.store(t, p, ch)
	case completion:
		if t.state == underway {
			n.transfers.confirm(id)
		}
	case getRequest:
		n.senders.submit(id, n.now)
	case notification:
		n.flows.notified(t)
	case acknowledgement:
		n.senders.acknowledged(id, p)
	}
	p = &n.pkts[i]
	n.fabric.release(lane, int64(p.wire), until)
	n.freePacket(i)
}

// store moves a packet into memory and returns when that ends.
func (n *receivers) store(t *transfer, p *pkt, ch int32) Time {
	slot := n.dmas.soonest(t.dst, receiving)
	begin, end := n.now, n.now
	if n.dmas.chunked(p) {
		onLink, inDMA := n.dmas.overlap(p, n.fabric.channels[ch].pace)
		begin, end = begin+onLink, end+inDMA
	}
	if free := n.dmas.free[slot]; free > begin {
		n.blame(p.transfer, n.served[t.dst], free-begin, OnReceive)
		begin = free
	}
	n.served[t.dst] = p.transfer
	if n.watch.Received != nil {
		n.watch.Received(TransferID(p.transfer), p.size)
	}
	end = max(end, begin+n.dmas.duration(t.dst, receiving, int64(p.size)))
	n.dmas.free[slot] = end
	t.pending--
	t.arriving = max(t.arriving, end)
	if t.pending == 0 {
		n.at(t.arriving, atDelivered, p.transfer)
	}
	switch {
	case n.cfg.AckBytes == 0 || t.verb == Get:
		if p.marked && n.flows.mayNotify(t) {
			n.senders.sendControl(p.transfer, notification)
		}
	case t.pending > 0:
		n.senders.acknowledge(p.transfer, p.size, p.marked)
	default:
		t.echo = p.marked // for the acknowledgement sent by delivered
	}
	return end
}

// delivered is called when the last DMA of a transfer's data has ended.
func (n *receivers) delivered(id int32) {
	t := n.transfers.arrived(id)
	switch {
	case t.verb == Get:
		n.transfers.confirm(id)
	case n.cfg.AckBytes > 0:
		n.senders.acknowledge(id, t.lastBytes(n.cfg.PacketBytes), t.echo)
	default:
		n.senders.sendControl(id, completion)
	}
}
