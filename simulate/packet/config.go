package packet

import (
	"errors"
	"fmt"

	"github.com/giverny/giverny/simulate/routing"
)

// FlowControl is how a link prevents overflow of its receiver's buffer.
type FlowControl string

// Flow control methods.
const (
	Unlimited FlowControl = "none"    // buffers hold anything
	Credits   FlowControl = "credits" // InfiniBand: a packet leaves when the far buffer of its lane has room
	PFC       FlowControl = "pfc"     // Ethernet: the far end pauses a priority between Xoff and Xon
)

// Arbitration decides which of several packets that want a link goes first.
type Arbitration string

// Arbitration policies.
const (
	Oldest     Arbitration = "oldest"      // the first that reached the head of its input
	RoundRobin Arbitration = "round-robin" // inputs in turns
)

// Config has the parameters of a simulation. Sizes are in bytes, times in ns, speeds in
// GB/s (1e9). DefaultConfig has the values of NSIM-ACE's paper (its Table 1); "open"
// marks defaults that the paper does not specify.
type Config struct {
	// Links and switches.
	LinkSpeed       float64     // of every link; 0: as the graph says (Table 1: 4.0)
	CableNanos      float64     // Table 1: 0.6
	SwitchNanos     float64     // Table 1: 128
	RoutingNanos    float64     // Table 1: 4
	VCNanos         float64     // virtual channel allocation; Table 1: 4
	AllocationNanos float64     // switch allocation; Table 1: 4
	StagesIncluded  bool        // SwitchNanos includes the three stages; open: false
	Arbitration     Arbitration // open: oldest
	StoreAndForward bool        // switches wait for the whole packet; open: false, virtual cut-through
	OutputQueued    bool        // a packet waits in the queue of its output, not in its input behind others; open: false
	PacketBytes     int64       // largest payload; open: 4096
	HeaderBytes     int64       // of every data packet, on links only; open: 0
	ControlBytes    int64       // control packet on the wire; open: 32
	AckBytes        int64       // acknowledgement of each data packet of a put; 0: one control packet when all have arrived
	WindowBytes     int64       // unacknowledged bytes of a put, less at lower rates; 0: unlimited
	VirtualChannels int         // per class; 0: the number needed to avoid deadlock
	Classes         int         // service levels or priorities, 1 to 8 with their virtual channels
	Routing         routing.Policy
	Seed            int64   // of hashed routes, Valiant's detours and marking
	RerouteMicros   float64 // from a failure until routes avoid it; until then packets there are lost

	// Buffers and flow control.
	FlowControl     FlowControl // open: none
	BufferBytes     int64       // per input and lane
	XoffBytes       int64       // PFC: fill level above which a lane is paused
	XonBytes        int64       // PFC: fill level at which it resumes
	PauseNanos      float64     // PFC: from crossing a threshold to silence at the far end, excluding the cable
	NICBufferBytes  int64       // bytes waiting for the first link before DMA stalls; 0: unlimited
	XmitTickPicos   float64     // length of a tick of the xmit-wait counter
	RetransmitNanos float64     // from a loss until the NIC sends the packet again
	Retries         int         // losses of one packet before the transfer fails

	// NICs.
	DMASpeed        float64 // of one DMA channel; Table 1: 2.8
	DMAChannels     int     // packets in DMA at once, each way; the paper: 1
	DMASetupNanos   float64 // from doorbell to first data, unless inline; open: 0
	DMAChunkBytes   int64   // a packet leaves during its DMA, in chunks of this size; 0: after it
	SharedDMA       bool    // both directions share the channels; open: false
	ActivePuts      int     // transfers a NIC serves in turn; the paper: 1
	OverheadNanos   float64 // of the library, at each end; Table 1: 0
	InlineBytes     int64   // data up to this size is sent with the doorbell, without DMA; 0: never
	InlineLineBytes int64   // the processor writes inline work requests in lines of this size
	InlineLineNanos float64 // per line after the first
	InlineHeader    int64   // bytes of a work request in addition to its data

	Rate RateConfig
}

// DefaultConfig is the paper's model, with the values of Table 1.
func DefaultConfig() Config {
	return Config{
		LinkSpeed: 4.0, CableNanos: 0.6, SwitchNanos: 128, RoutingNanos: 4, VCNanos: 4, AllocationNanos: 4,
		PacketBytes: 4096, ControlBytes: 32, Classes: 1, Routing: routing.Default, Seed: 1, Arbitration: Oldest,
		FlowControl: Unlimited, BufferBytes: 131072, XoffBytes: 65536, XonBytes: 49152, PauseNanos: 100,
		XmitTickPicos: 1000, RetransmitNanos: 50000, Retries: 7,
		DMASpeed: 2.8, DMAChannels: 1, ActivePuts: 1, InlineLineBytes: 64, InlineHeader: 36,
		Rate: defaultRateConfig(),
	}
}

// minSpeed, in GB/s, keeps the duration of a packet far from the maximum of Time.
const minSpeed = 1e-3

// maxLanes bounds the product of classes and virtual channels.
const maxLanes = 8

// Validate joins all errors.
func (c Config) Validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(c.LinkSpeed > 0 && c.LinkSpeed < minSpeed, "link_gbytes=%v: want 0 (the graph's) or at least %v", c.LinkSpeed, minSpeed)
	bad(c.DMASpeed < minSpeed, "dma_gbytes=%v: want at least %v", c.DMASpeed, minSpeed)
	bad(c.HeaderBytes > 1<<20, "header_bytes=%d: want at most 1048576", c.HeaderBytes)
	bad(c.PacketBytes < 1 || c.PacketBytes > 1<<20, "packet_bytes=%d: want 1 to 1048576", c.PacketBytes)
	bad(c.ControlBytes < 0 || c.ControlBytes > c.PacketBytes+c.HeaderBytes, "control_bytes=%d: want 0 to packet_bytes+header_bytes", c.ControlBytes)
	bad(c.AckBytes < 0 || c.AckBytes > c.PacketBytes+c.HeaderBytes, "ack_bytes=%d: want 0 to packet_bytes+header_bytes", c.AckBytes)
	bad(c.WindowBytes > 0 && (c.AckBytes == 0 || c.WindowBytes < c.PacketBytes), "window_bytes=%d: want 0, or packet_bytes or more with ack_bytes above 0", c.WindowBytes)
	bad(c.Classes < 1 || c.Classes*max(c.VirtualChannels, 1) > maxLanes, "classes=%d with virtual_channels=%d: want at least one class and at most %d lanes", c.Classes, c.VirtualChannels, maxLanes)
	bad(c.DMAChannels < 1 || c.DMAChannels > 64, "dma_channels=%d: want 1 to 64", c.DMAChannels)
	bad(c.ActivePuts < 1 || c.ActivePuts > 1<<16, "active_puts=%d: want 1 to 65536", c.ActivePuts)
	bad(c.InlineLineBytes < 1, "inline_line_bytes=%d: want 1 or more", c.InlineLineBytes)
	bad(c.Retries < 0 || c.Retries > 200, "retries=%d: want 0 to 200", c.Retries)
	bad(c.RetransmitNanos <= 0, "retransmit_ns=%v: want more than 0", c.RetransmitNanos)
	bad(c.XmitTickPicos <= 0, "xmit_tick_ps=%v: want more than 0", c.XmitTickPicos)
	largest := c.PacketBytes + c.HeaderBytes
	bad(c.NICBufferBytes != 0 && c.NICBufferBytes < largest, "nic_buffer_bytes=%d: want 0 or a packet of %d", c.NICBufferBytes, largest)
	for _, p := range parameters {
		if v := p.float; v != nil {
			bad(!(*v(&c) >= 0 && *v(&c) <= 1e12), "%s=%v: want 0 to 1e12", p.Name, *v(&c))
		}
		if v := p.int64; v != nil {
			bad(*v(&c) < 0, "%s=%d: want 0 or more", p.Name, *v(&c))
		}
	}
	bad(c.Arbitration != Oldest && c.Arbitration != RoundRobin, "arbitration=%s: want oldest or round-robin", c.Arbitration)
	switch c.FlowControl {
	case Unlimited:
	case Credits:
		bad(c.BufferBytes < largest, "buffer_bytes=%d: want a whole packet of %d or more", c.BufferBytes, largest)
	case PFC:
		bad(c.XoffBytes < c.XonBytes, "xoff_bytes=%d: want xon_bytes=%d or more", c.XoffBytes, c.XonBytes)
		bad(c.BufferBytes < c.XoffBytes+largest, "buffer_bytes=%d: want xoff_bytes=%d and a packet of %d or more", c.BufferBytes, c.XoffBytes, largest)
	default:
		bad(true, "flow_control=%s: want none, credits or pfc", c.FlowControl)
	}
	errs = append(errs, c.Rate.validate())
	return errors.Join(errs...)
}

// switchLatency is the time from the arrival of a packet's head at a switch to its
// request for the output.
func (c *Config) switchLatency() Time {
	if c.StagesIncluded {
		return Nanos(c.SwitchNanos)
	}
	return Nanos(c.SwitchNanos + c.RoutingNanos + c.VCNanos + c.AllocationNanos)
}
