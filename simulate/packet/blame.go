package packet

// Place is where a packet had to wait for another.
type Place uint8

// Places.
const (
	OnLink    Place = iota // another packet took the link
	OnReceive              // another packet was moved into memory
)

func (p Place) String() string { return [...]string{"link", "receive"}[p] }

// Observe sets f to be called whenever a packet of one transfer waits for d due to a
// packet of another.
func (s *Sim) Observe(f func(waiting, holder TransferID, d Time, where Place)) { s.observer = f }

func (s *Sim) blame(waiting, holder int32, d Time, where Place) {
	if s.observer != nil && waiting != holder && holder != none {
		s.observer(TransferID(waiting), TransferID(holder), d, where)
	}
}

// blameWaiting blames the current holder of a channel to all lanes that want it.
func (s *Sim) blameWaiting(c *channel, holder int32, d Time) {
	for lane := c.first; lane != none; lane = s.buffers[lane].next {
		s.blame(s.pkts[s.buffers[lane].head].transfer, holder, d, OnLink)
	}
}
