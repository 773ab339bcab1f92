package packet

import (
	"fmt"

	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// Watch has callbacks for the movement of data packets, each of which may be nil. They
// provide switch telemetry and round trips of hosts from a simulation.
type Watch struct {
	Sent     func(id TransferID, bytes int32)      // a packet begins its DMA at the sender
	Queued   func(q Queued)                        // a packet joins a switch's output queue
	Received func(id TransferID, bytes int32)      // a packet has reached its last NIC
	Paused   func(ch routing.Channel, paused bool) // the sender of a channel is paused or resumes
}

// Queued is a packet that joins a queue.
type Queued struct {
	From, To routing.Channel // it came through From and waits for To
	Transfer TransferID
	Bytes    int32
	Ahead    int64 // bytes in the queue before it
	Paused   bool  // its lane of To is paused
}

// Watch sets the callbacks.
func (s *Sim) Watch(w Watch) { s.watch = w }

// SlowNIC changes the DMA speed of a node, in GB/s, to model a host with slow memory or
// PCIe.
func (s *Sim) SlowNIC(node topology.DeviceID, gigabytesPerSecond float64) error {
	if int(node) >= len(s.nics) || !(gigabytesPerSecond >= minSpeed) {
		return fmt.Errorf("NIC of device %d at %v GB/s: want a device of the fabric and at least %v", node, gigabytesPerSecond, minSpeed)
	}
	s.nics[node].dma = paceOf(gigabytesPerSecond)
	return nil
}
