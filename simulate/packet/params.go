package packet

import (
	"fmt"
	"strconv"
)

// Parameter is one field of Config, with its user-visible name.
type Parameter struct {
	Name string // including its unit
	Help string

	float func(*Config) *float64
	int64 func(*Config) *int64
	int   func(*Config) *int
	flag  func(*Config) *bool
	text  func(*Config) *string
}

// Parameters lists all parameters in documentation order.
func Parameters() []Parameter { return append([]Parameter(nil), parameters...) }

// Set parses value into the parameter of a Config; Validate checks the Config as a
// whole.
func (p *Parameter) Set(c *Config, value string) (err error) {
	switch {
	case p.float != nil:
		*p.float(c), err = strconv.ParseFloat(value, 64)
	case p.int64 != nil:
		*p.int64(c), err = strconv.ParseInt(value, 10, 64)
	case p.int != nil:
		*p.int(c), err = strconv.Atoi(value)
	case p.flag != nil:
		*p.flag(c), err = strconv.ParseBool(value)
	default:
		*p.text(c) = value
	}
	if err != nil {
		return fmt.Errorf("%s=%q: want a %s", p.Name, value, p.kind())
	}
	return nil
}

func (p *Parameter) kind() string {
	switch {
	case p.float != nil:
		return "number"
	case p.flag != nil:
		return "boolean, true or false"
	}
	return "whole number"
}

func float(name, help string, at func(*Config) *float64) Parameter {
	return Parameter{Name: name, Help: help, float: at}
}

func whole(name, help string, at func(*Config) *int64) Parameter {
	return Parameter{Name: name, Help: help, int64: at}
}

func count(name, help string, at func(*Config) *int) Parameter {
	return Parameter{Name: name, Help: help, int: at}
}

func flag(name, help string, at func(*Config) *bool) Parameter {
	return Parameter{Name: name, Help: help, flag: at}
}

func text(name, help string, at func(*Config) *string) Parameter {
	return Parameter{Name: name, Help: help, text: at}
}

var parameters = []Parameter{
	float("link_gbytes", "speed of every link, GB/s; 0: as the topology says", func(c *Config) *float64 { return &c.LinkSpeed }),
	float("cable_ns", "latency of a cable", func(c *Config) *float64 { return &c.CableNanos }),
	float("switch_ns", "latency of a switch", func(c *Config) *float64 { return &c.SwitchNanos }),
	float("routing_ns", "routing calculation in a switch", func(c *Config) *float64 { return &c.RoutingNanos }),
	float("vc_allocation_ns", "virtual channel allocation in a switch", func(c *Config) *float64 { return &c.VCNanos }),
	float("switch_allocation_ns", "switch allocation", func(c *Config) *float64 { return &c.AllocationNanos }),
	flag("stages_included", "switch_ns includes the three stages", func(c *Config) *bool { return &c.StagesIncluded }),
	flag("store_and_forward", "switches wait for a packet's tail", func(c *Config) *bool { return &c.StoreAndForward }),
	flag("output_queued", "virtual output queues: packets in switches wait per output port", func(c *Config) *bool { return &c.OutputQueued }),
	text("arbitration", "oldest or round-robin", func(c *Config) *string { return (*string)(&c.Arbitration) }),
	whole("packet_bytes", "largest payload of a packet", func(c *Config) *int64 { return &c.PacketBytes }),
	whole("header_bytes", "header of a data packet, on links only", func(c *Config) *int64 { return &c.HeaderBytes }),
	whole("control_bytes", "control packet on a link", func(c *Config) *int64 { return &c.ControlBytes }),
	whole("ack_bytes", "acknowledgement of each data packet of a put; 0: one control packet at its end", func(c *Config) *int64 { return &c.AckBytes }),
	whole("window_bytes", "unacknowledged bytes of a put in flight at full rate; 0: unlimited", func(c *Config) *int64 { return &c.WindowBytes }),
	count("virtual_channels", "per class; 0: what the routing needs against deadlock", func(c *Config) *int { return &c.VirtualChannels }),
	count("classes", "service levels or priorities", func(c *Config) *int { return &c.Classes }),
	text("routing", "directional, dmodk, ecmp, minimal or valiant; empty: by topology", func(c *Config) *string { return (*string)(&c.Routing) }),
	whole("seed", "of hashed routes and of marking", func(c *Config) *int64 { return &c.Seed }),
	float("reroute_us", "from a failure until routes avoid it", func(c *Config) *float64 { return &c.RerouteMicros }),

	text("flow_control", "none, credits or pfc", func(c *Config) *string { return (*string)(&c.FlowControl) }),
	whole("buffer_bytes", "input buffer per port and lane", func(c *Config) *int64 { return &c.BufferBytes }),
	whole("xoff_bytes", "PFC: fill above which a lane is paused", func(c *Config) *int64 { return &c.XoffBytes }),
	whole("xon_bytes", "PFC: fill below which the lane resumes", func(c *Config) *int64 { return &c.XonBytes }),
	float("pause_ns", "PFC: from a threshold to silence, besides the cable", func(c *Config) *float64 { return &c.PauseNanos }),
	whole("nic_buffer_bytes", "packets queued for the first link before DMA stalls; 0: unlimited", func(c *Config) *int64 { return &c.NICBufferBytes }),
	float("xmit_tick_ps", "tick of the xmit-wait counter", func(c *Config) *float64 { return &c.XmitTickPicos }),
	float("retransmit_ns", "from a loss until the packet is sent again", func(c *Config) *float64 { return &c.RetransmitNanos }),
	count("retries", "losses of one packet before the transfer fails", func(c *Config) *int { return &c.Retries }),

	float("dma_gbytes", "speed of one DMA channel, GB/s", func(c *Config) *float64 { return &c.DMASpeed }),
	count("dma_channels", "packets in DMA at once, each way", func(c *Config) *int { return &c.DMAChannels }),
	float("dma_setup_ns", "from doorbell to first data, unless inline", func(c *Config) *float64 { return &c.DMASetupNanos }),
	whole("dma_chunk_bytes", "chunk after whose DMA a packet begins to leave; 0: the whole packet", func(c *Config) *int64 { return &c.DMAChunkBytes }),
	flag("shared_dma", "sending and receiving share the DMA channels", func(c *Config) *bool { return &c.SharedDMA }),
	count("active_puts", "transfers that a NIC serves in turns", func(c *Config) *int { return &c.ActivePuts }),
	float("overhead_ns", "of the library, at each end", func(c *Config) *float64 { return &c.OverheadNanos }),
	whole("inline_bytes", "data up to this size comes with the doorbell; 0: never", func(c *Config) *int64 { return &c.InlineBytes }),
	whole("inline_line_bytes", "lines in which the processor writes an inline request", func(c *Config) *int64 { return &c.InlineLineBytes }),
	float("inline_line_ns", "per line after the first", func(c *Config) *float64 { return &c.InlineLineNanos }),
	whole("inline_header", "bytes of a work request besides its data", func(c *Config) *int64 { return &c.InlineHeader }),

	flag("ecn", "switches mark, receivers notify, senders slow down (DCQCN)", func(c *Config) *bool { return &c.Rate.Enabled }),
	whole("ecn_kmin_bytes", "queue at which marking begins", func(c *Config) *int64 { return &c.Rate.KminBytes }),
	whole("ecn_kmax_bytes", "queue from which all is marked", func(c *Config) *int64 { return &c.Rate.KmaxBytes }),
	float("ecn_pmax", "share that is marked just below kmax, 0 to 1", func(c *Config) *float64 { return &c.Rate.Pmax }),
	float("cnp_interval_us", "least time between a flow's notifications", func(c *Config) *float64 { return &c.Rate.NotifyMicros }),
	float("dcqcn_g", "gain of the congestion estimate", func(c *Config) *float64 { return &c.Rate.Gain }),
	float("dcqcn_alpha_us", "period of the estimate's decay", func(c *Config) *float64 { return &c.Rate.AlphaMicros }),
	float("dcqcn_cut_us", "rate cuts at ticks of this period, as in ns-3's model; 0: at each notification", func(c *Config) *float64 { return &c.Rate.CutMicros }),
	flag("dcqcn_keep_target", "cuts in a row leave the target rate", func(c *Config) *bool { return &c.Rate.KeepTarget }),
	flag("dcqcn_per_transfer", "each transfer begins at line rate, a queue pair of its own", func(c *Config) *bool { return &c.Rate.PerTransfer }),
	float("dcqcn_timer_us", "period of rate increase", func(c *Config) *float64 { return &c.Rate.TimerMicros }),
	whole("dcqcn_byte_counter", "bytes between rate increases; 0: by the timer alone", func(c *Config) *int64 { return &c.Rate.ByteCounter }),
	count("dcqcn_fast_steps", "steps of fast recovery", func(c *Config) *int { return &c.Rate.FastSteps }),
	float("dcqcn_additive_gbps", "additive increase", func(c *Config) *float64 { return &c.Rate.AdditiveGbps }),
	float("dcqcn_hyper_gbps", "hyper increase", func(c *Config) *float64 { return &c.Rate.HyperGbps }),
	float("dcqcn_min_gbps", "least rate", func(c *Config) *float64 { return &c.Rate.MinGbps }),
}
