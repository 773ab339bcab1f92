package packet

import (
	"fmt"

	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// Watch is what is called as packets of data move; what is nil is not. It is how
// switches' telemetry and hosts' round trips are taken from a simulation.
type Watch struct {
	Sent     func(id TransferID, bytes int32)      // a packet begins its DMA at the sender
	Queued   func(q Queued)                        // a packet joins the queue of a switch's output
	Received func(id TransferID, bytes int32)      // a packet has come to its last NIC
	Paused   func(ch routing.Channel, paused bool) // the sender of a channel heeds a pause, or its end
}

// Queued is a packet that joins a queue.
type Queued struct {
	From, To routing.Channel // it came through From and waits for To
	Transfer TransferID
	Bytes    int32
	Ahead    int64 // bytes in the queue before it
	Paused   bool  // its lane of To is paused
}

// Watch has the functions called from now on.
func (s *Sim) Watch(w Watch) { s.watch = w }

// SlowNIC gives the DMA of a node another speed from now on, in GB/s: a host whose
// memory or PCIe is slow.
func (s *Sim) SlowNIC(node topology.DeviceID, gigabytesPerSecond float64) error {
	if int(node) >= len(s.nics) || !(gigabytesPerSecond >= minSpeed) {
		return fmt.Errorf("NIC of device %d at %v GB/s: want a device of the fabric and at least %v", node, gigabytesPerSecond, minSpeed)
	}
	s.nics[node].dma = paceOf(gigabytesPerSecond)
	return nil
}
