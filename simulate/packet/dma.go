package packet

import (
	"fmt"

	"github.com/giverny/giverny/topology"
)

// side is a direction of a NIC's DMA.
type side int

const (
	sending side = iota
	receiving
)

// engine is the DMA of one NIC.
type engine struct {
	pace  pace       // of one DMA channel
	carry [2]float64 // rounded-off fractions of DMA times, by side
}

// dmas is the DMA of all NICs: several channels a side, each with one packet at a time.
type dmas struct {
	channels int  // a side
	shared   bool // both sides use those of the sending side
	pace     pace // of one channel of a NIC that is not slowed
	chunk    int64
	engines  []engine
	free     []Time // by NIC, side and channel: when it is free
}

func newDMAs(cfg Config, nodes int) *dmas {
	d := &dmas{channels: cfg.DMAChannels, shared: cfg.SharedDMA, pace: paceOf(cfg.DMASpeed), chunk: cfg.DMAChunkBytes,
		engines: make([]engine, nodes), free: make([]Time, nodes*2*cfg.DMAChannels)}
	for i := range d.engines {
		d.engines[i].pace = d.pace
	}
	return d
}

// soonest is the DMA channel of a node that is free first: an index into free.
func (d *dmas) soonest(node int32, s side) int32 {
	if d.shared {
		s = sending
	}
	first := (int(node)*2 + int(s)) * d.channels
	best := first
	for i := first + 1; i < first+d.channels; i++ {
		if d.free[i] < d.free[best] {
			best = i
		}
	}
	return int32(best)
}

// duration is how long a NIC's DMA of the next bytes takes.
func (d *dmas) duration(node int32, s side, bytes int64) Time {
	e := &d.engines[node]
	return e.pace.next(bytes, &e.carry[s])
}

// chunked reports whether a packet's DMA is in chunks, so that it overlaps its time on
// the link.
func (d *dmas) chunked(p *pkt) bool { return min(d.chunk, int64(p.size)) > 0 }

// overlap returns what limits the overlap of a chunked packet: the time of its first chunk
// on a link of a pace less that of the whole packet, and the DMA's time of that chunk.
func (d *dmas) overlap(p *pkt, link pace) (onLink, inDMA Time) {
	chunk := min(d.chunk, int64(p.size))
	return link.of(chunk) - link.of(int64(p.wire)), d.pace.of(chunk)
}

// SlowNIC changes the DMA speed of a node from now on, in GB/s, to model a host with
// slow memory or PCIe.
func (s *Sim) SlowNIC(node topology.DeviceID, gigabytesPerSecond float64) error {
	if int(node) >= len(s.dmas.engines) || !(gigabytesPerSecond >= minSpeed) {
		return fmt.Errorf("NIC of device %d at %v GB/s: want a device of the fabric and at least %v", node, gigabytesPerSecond, minSpeed)
	}
	s.dmas.engines[node].pace = paceOf(gigabytesPerSecond)
	return nil
}
