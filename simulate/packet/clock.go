package packet

// kind is the kind of an event; each comment begins with what its index refers to.
type kind uint8

const (
	atSwitch    kind = iota // pkt: its head, or tail, has passed through the switch's stages
	atNIC                   // pkt: its tail has reached its last device
	atLinkFree              // channel: it may send again
	atInputFree             // lane: the next packet may leave the input
	atDMADone               // pkt: it may leave the NIC
	atPump                  // NIC: a DMA may begin
	atDelivered             // transfer: its last DMA has ended
	atArrived               // transfer: the target's library is notified
	atCompleted             // transfer: the poster's library is notified
	atRequest               // transfer: a get's request leaves
	atTimer                 // number passed to Timer
	atFault                 // fault
	atResend                // pkt: it was lost
	atPause                 // lane: its sender pauses or resumes
	atDrain                 // lane: a paused buffer may have room
)

// clock is the simulated time and what is scheduled. Events of one instant happen in the
// order in which they were scheduled.
type clock struct {
	now   Time
	queue queue
}

// at schedules an event, not before now.
func (c *clock) at(t Time, k kind, index int32) { c.queue.push(t, k, index) }

// later schedules an event; with delay 0 it happens within the current instant.
func (c *clock) later(delay Time, k kind, index int32) { c.queue.push(c.now+delay, k, index) }

// next advances to the next event, of which there must be one.
func (c *clock) next() event {
	e := c.queue.pop()
	c.now = Time(e.Key)
	return e
}
