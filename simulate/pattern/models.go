package pattern

import "github.com/giverny/giverny/simulate/packet"

// Models are the built-in machines.
//
// The constants of qdr, hdr200 and hdr100 are fitted to published perftest results,
// three sizes of ib_write_lat each; everything else follows from the standards or is a
// round number that does not affect the results.
func Models() []Model {
	return []Model{
		{"nsim-ace", "NSIM-ACE's paper: its model and Table 1; what it leaves open by default", packet.DefaultConfig(), Dissemination, 8},
		{"qdr", "ConnectX-3 class, QDR 40 Gb/s, PCIe 2.0; fitted to ib_write_lat at 2, 128 and 256 B", qdr(), Dissemination, 8},
		{"hdr200", "ConnectX-6, HDR 200 Gb/s, in a virtual machine; fitted to ib_write_lat at 2, 256 and 4096 B", hdr200(), Dissemination, 8},
		{"hdr100", "ConnectX-6, HDR100 100 Gb/s, Quantum switches; fitted to ib_write_lat of 2 B over 1 and 3 switches", hdr100(), Dissemination, 8},
		{"roce100", "RoCE v2 at 100 Gb/s: hdr100's NIC behind Ethernet switches with PFC, ECN and DCQCN; not fitted", roce100(), Dissemination, 8},
	}
}

// qdr keeps the paper's links and switches, and adds that the processor writes small
// work requests itself (inline, up to 220 B), a 64-byte line at a time, and that any
// larger one costs a read of memory over PCIe before the first packet. DMA runs at the
// speed of PCIe 2.0 x8 with 128-byte payloads and 24 bytes of overhead each: 4 GB/s *
// 128/152.
func qdr() packet.Config {
	c := packet.DefaultConfig()
	c.FlowControl, c.BufferBytes = packet.Credits, 32<<10
	c.DMASpeed = 3.37
	c.OverheadNanos = 373.8 // 2 B: 0.89 us
	c.InlineLineNanos = 70  // 128 B: 1.10 us
	c.DMASetupNanos = 735   // 256 B: 1.84 us
	c.InlineBytes = 220     // as in the measurement
	c.NICBufferBytes = 64 << 10
	return c
}

// hdr200 adds that newer NICs have several packets in DMA at once, each slower than the
// link. One engine with the full bus speed is up to 20% off from 4 to 64 KiB; three or
// more slow ones are within 10% everywhere, and reproduce the slope of 0.18 ns/B below
// one packet, which one fast engine cannot.
func hdr200() packet.Config {
	c := packet.DefaultConfig()
	c.LinkSpeed, c.HeaderBytes = 25, 66
	c.FlowControl, c.BufferBytes = packet.Credits, 64<<10
	c.OverheadNanos = 863 // 2 B: 1.87 us
	c.DMASetupNanos = 935 // 256 B: 2.87 us
	c.DMASpeed = 9.3      // 4096 B: 3.85 us
	c.DMAChannels, c.ActivePuts = 4, 16
	c.InlineBytes, c.InlineLineNanos = 220, 20
	c.NICBufferBytes = 128 << 10
	return c
}

// hdr100 has hdr200's NIC on bare metal, and switches whose latency with cables is the
// 245 ns that two more of them were measured to cost, half each.
func hdr100() packet.Config {
	c := hdr200()
	c.LinkSpeed, c.HeaderBytes = 12.5, 60
	c.SwitchNanos, c.CableNanos, c.StagesIncluded = 235, 10, true
	c.OverheadNanos = 475 // 2 B over one switch: 1.21 us
	return c
}

func roce100() packet.Config {
	c := hdr100()
	c.FlowControl, c.BufferBytes, c.XoffBytes, c.XonBytes = packet.PFC, 256<<10, 160<<10, 128<<10
	c.HeaderBytes, c.ControlBytes = 82, 84 // Ethernet, IPv4, UDP and RDMA headers, preamble and gap
	c.SwitchNanos = 600
	c.Rate.Enabled = true
	return c
}
