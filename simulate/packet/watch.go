package packet

import "github.com/giverny/giverny/simulate/routing"

// Place is where a packet had to wait for another.
type Place uint8

// Places.
const (
	OnLink    Place = iota // another packet took the link
	OnReceive              // another packet was moved into memory
)

func (p Place) String() string { return [...]string{"link", "receive"}[p] }

// Watch has callbacks for movements of data packets; nil ones are not called. Switch
// telemetry and host round-trip times are derived from them.
type Watch struct {
	Sent     func(id TransferID, bytes int32)      // a packet begins its DMA at the sender
	Queued   func(q Queued)                        // a packet joins a switch's output queue
	Received func(id TransferID, bytes int32)      // a packet has reached its last NIC
	Paused   func(ch routing.Channel, paused bool) // the sender of a channel pauses or resumes
}

// Queued is a packet that joins a queue.
type Queued struct {
	From, To routing.Channel // it came through From and waits for To
	Transfer TransferID
	Bytes    int32
	Ahead    int64 // bytes in the queue before it
	Paused   bool  // its lane of To is paused
}

// observers are the callbacks of a simulation's user.
type observers struct {
	watch  Watch
	waited func(waiting, holder TransferID, d Time, where Place) // may be nil
}

// blame reports that a packet of one transfer waits for d because of a packet of another.
func (o *observers) blame(waiting, holder int32, d Time, where Place) {
	if o.waited != nil && waiting != holder && holder != none {
		o.waited(TransferID(waiting), TransferID(holder), d, where)
	}
}

// Observe registers f, which is called whenever a packet of one transfer waits for d
// because of a packet of another.
func (s *Sim) Observe(f func(waiting, holder TransferID, d Time, where Place)) {
	s.observers.waited = f
}

// Watch sets the callbacks from now on.
func (s *Sim) Watch(w Watch) { s.observers.watch = w }
