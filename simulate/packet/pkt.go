package packet

// pkt is a packet. It is in flight to a lane, the buffer at the end of a channel, or
// lies in the buffer before that channel and waits for it.
type pkt struct {
	transfer int32
	next     int32 // next in its buffer or in the free list
	size     int32 // payload
	wire     int32 // bytes on a link
	path     hopRange
	lane     int32 // lane number hop of path
	from     int32 // lane whose room it occupies
	hop      uint16
	epoch    uint16 // of the channel that carries it
	role     role
	tries    uint8
	marked   bool
	torn     bool // a link broke after its head had passed
	tail     Time // when its tail has passed through the current device
}

type role uint8

const (
	payload role = iota
	completion
	getRequest
	notification // of congestion
	acknowledgement
)

// packets holds all packets. The places of those that have ended are used again.
type packets struct {
	pkts  []pkt
	spare int32 // first free pkt
}

func (k *packets) newPacket(p pkt) int32 {
	if k.spare != none {
		i := k.spare
		k.spare = k.pkts[i].next
		k.pkts[i] = p
		return i
	}
	k.pkts = append(k.pkts, p)
	if len(k.pkts) >= 1<<argBits {
		panic("packet: more than 2^28 packets at once")
	}
	return int32(len(k.pkts) - 1)
}

func (k *packets) freePacket(i int32) {
	k.pkts[i].next = k.spare
	k.spare = i
}
