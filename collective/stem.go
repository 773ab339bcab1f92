package collective

import (
	"fmt"

	"github.com/giverny/giverny/collective/network"
)

// stem finds the slow link of a step whose flow waited behind paused ports. After the
// last paused port on its path comes a switch whose own egress port keeps the packets
// waiting although nothing pauses it. All traffic of the paused link goes to that port,
// and other traffic there is far less than what was lost, so the link carries less than
// its rate.
func (e *evidence) stem(i int, s *stream, excess int64) []cause {
	from, to := e.t.begin[i], e.t.end[i]
	way := e.tr.route(s)
	for k := len(way.Ports) - 2; k >= 0; k-- {
		p, q := way.Ports[k], way.Ports[k+1]
		if !way.Certain(p) || e.pauses.fraction(p, from, to) == 0 {
			continue
		}
		h, ok := e.tr.net.Next(p)
		if !ok || h.Peer != q.Node || !way.Certain(q) {
			return nil // the ports between are unknown
		}
		stood := min(e.pauses.paused(p, from, to), excess)
		if stood < excess/20 || !e.flowsFree(q, from, to) || !e.leaveBy(p, q, s, excess, from, to) {
			return nil
		}
		c := e.slowLinkAt(q, float64(stood))
		c.evidence = fmt.Sprintf("%s represents packets that wait at %s, which nothing pauses and which carries less than its nominal rate", e.portName(p), e.switchPort(q))
		return []cause{c}
	}
	return nil
}

// portName names a switch's port, or the host of a NIC port.
func (e *evidence) portName(p network.Port) string {
	if e.tr.net.Nodes[p.Node].Switch {
		return e.switchPort(p)
	}
	return e.host(p.Node)
}

// flowsFree reports whether a port is known not to have been paused between two times:
// by frames if any were recorded, or by its packets.
func (e *evidence) flowsFree(q network.Port, from, to int64) bool {
	_, known := e.pauses.share(q, from, to)
	return (known || len(e.t.run.Pauses) > 0) && e.pauses.fraction(q, from, to) <= pausedShare/4
}

// leaveBy reports whether all traffic through a paused port p leaves by q on the next
// switch, and others send little through q meanwhile, so that q is not busy.
func (e *evidence) leaveBy(p, q network.Port, s *stream, excess, from, to int64) bool {
	others := int64(0)
	for _, f := range e.tr.sending(from, to) {
		if f.stream == s || f.bytes == 0 {
			continue
		}
		if e.tr.passes(f.stream, q) {
			others += f.bytes
		} else if e.tr.passes(f.stream, p) {
			return false // it may be this flow that waits, at another port
		}
	}
	busy := e.wireNanos(others+e.tr.bytes(s, from, to), q)
	return e.wireNanos(others, q) <= float64(excess)/4 && busy < busyShare*float64(to-from)
}
