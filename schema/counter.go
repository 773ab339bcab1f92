package schema

import "fmt"

// CounterKind says how readings are converted to a value.
type CounterKind uint8

// Kinds of counters.
const (
	// Counter rises monotonically; only its differences over time matter.
	Counter CounterKind = iota
	// Gauge is an instantaneous value.
	Gauge
	// DerivedPercent was derived by the source from its own counter: the
	// percentage over the interval that ends at the reading.
	DerivedPercent
)

// Overflow is what a counter does at its maximum.
type Overflow uint8

// Kinds of overflow.
const (
	Wraps     Overflow = iota // continues from zero
	Saturates                 // stays at its maximum until it is cleared
)

// Direction of the traffic or signal, as the port that reports it sees it.
type Direction uint8

// Directions.
const (
	NoDirection Direction = iota
	Rx
	Tx
)

// Side says which of a port's two links a reading describes. It is not the
// Direction: pause frames that a port receives (Rx) silence its sending side,
// so they describe the link that leaves it (Egress).
type Side uint8

// Sides.
const (
	NoSide  Side = iota
	Egress       // the link that leaves the port
	Ingress      // the link that enters the port
)

// CounterInfo describes one counter as devices report it, and the metric derived from it.
type CounterInfo struct {
	Name      string // canonical: family.vendor_name, the column name in batches
	Unit      Unit
	Width     uint8 // bits; 0 for gauges
	Overflow  Overflow
	Direction Direction
	Kind      CounterKind
	Side      Side
	Metric    Metric // NoMetric: kept raw, for diagnosis
	Help      string
}

// MaxValue returns the largest reading of the counter's width.
func (c *CounterInfo) MaxValue() uint64 {
	if c.Width == 0 || c.Width >= 64 {
		return ^uint64(0)
	}
	return 1<<c.Width - 1
}

// LookupCounter finds a counter by its canonical name. An unknown counter is
// not an error: it is stored raw and counted.
func LookupCounter(name string) (CounterInfo, bool) {
	i, ok := counterIndex[name]
	if !ok {
		return CounterInfo{}, false
	}
	return counterTable[i], true
}

// KeyCounter returns the counter of a port's row that becomes a metric and is first in the table; one that the source derived only if
// there is no other; "" if there is none. Rows of a batch have it in common, and it is the batch's first column: by it a window tells
// that a port has reported, so if a port's counters come in several rows, each kind needs batches of its own.
func KeyCounter(row map[string]uint64) (key string) {
	best := 2 * len(counterTable)
	for name := range row {
		i, known := counterIndex[name]
		if !known || counterTable[i].Metric == NoMetric {
			continue
		}
		if counterTable[i].Kind == DerivedPercent {
			i += len(counterTable)
		}
		if i < best {
			key, best = name, i
		}
	}
	return key
}

// Counters returns the table, in the order of its documentation.
func Counters() []CounterInfo { return append([]CounterInfo(nil), counterTable...) }

// KeptRaw reports whether a counter's readings are stored raw because no metric is
// derived from them: diagnostic counters, and those that are not in the table. The
// tick length of a port, TickColumn, only serves to convert port_xmit_wait and is
// not stored.
func KeptRaw(name string) bool {
	i, known := counterIndex[name]
	return name != TickColumn && (!known || counterTable[i].Metric == NoMetric)
}

// TickColumn is a gauge that is sent with ib.port_xmit_wait*: the length of the
// port's tick in picoseconds. Without it the configured tick applies.
const TickColumn = "ib.tick_picoseconds"

var counterTable = buildCounterTable()

var counterIndex = func() map[string]int {
	index := make(map[string]int, len(counterTable))
	for i, c := range counterTable {
		if _, twice := index[c.Name]; twice {
			// The table is in this package: a duplicate fails every test that uses it.
			panic("schema: counter " + c.Name + " is duplicated in the table")
		}
		index[c.Name] = i
	}
	return index
}()

func buildCounterTable() []CounterInfo {
	t := infinibandCounters()
	t = append(t, roceHardwareCounters()...)
	t = append(t, mlx5Counters()...)
	t = append(t, bnxtCounters()...)
	t = append(t, iceCounters()...)
	t = append(t, switchCounters()...)
	return append(t, geminiCounters()...)
}

func diagnostic(family string, width uint8, names ...string) []CounterInfo {
	t := make([]CounterInfo, len(names))
	for i, n := range names {
		t[i] = CounterInfo{Name: family + "." + n, Unit: Events, Width: width, Help: "diagnostic, kept raw"}
	}
	return t
}

// infinibandCounters are PortCounters and PortCountersExtended (InfiniBand
// Architecture Specification vol. 1, 16.1.3.5 and 16.1.4.11), named as in sysfs
// and perfquery. The 32-bit forms saturate at their maximum.
func infinibandCounters() []CounterInfo {
	t := []CounterInfo{
		{"ib.port_xmit_data", Words4, 64, Wraps, Tx, Counter, Egress, Throughput, "octets sent / 4"},
		{"ib.port_rcv_data", Words4, 64, Wraps, Rx, Counter, Ingress, Throughput, "octets received / 4"},
		{"ib.port_xmit_packets", Packets, 64, Wraps, Tx, Counter, Egress, PacketRate, "packets sent"},
		{"ib.port_rcv_packets", Packets, 64, Wraps, Rx, Counter, Ingress, PacketRate, "packets received"},
		{"ib.port_xmit_wait", Ticks, 64, Wraps, Tx, Counter, Egress, XmitWait, "ticks in which data waited and nothing was sent"},
		{"ib.port_xmit_data_32", Words4, 32, Saturates, Tx, Counter, Egress, Throughput, "octets sent / 4; full in 0.34 s at 400 Gb/s"},
		{"ib.port_rcv_data_32", Words4, 32, Saturates, Rx, Counter, Ingress, Throughput, "octets received / 4"},
		{"ib.port_xmit_packets_32", Packets, 32, Saturates, Tx, Counter, Egress, PacketRate, "packets sent"},
		{"ib.port_rcv_packets_32", Packets, 32, Saturates, Rx, Counter, Ingress, PacketRate, "packets received"},
		{"ib.port_xmit_wait_32", Ticks, 32, Saturates, Tx, Counter, Egress, XmitWait, "ticks in which data waited and nothing was sent"},
		{TickColumn, Picoseconds, 0, Wraps, NoDirection, Gauge, NoSide, NoMetric, "length of the port's tick"},
		{"ib.port_state", UnitNone, 0, Wraps, NoDirection, Gauge, NoSide, NoMetric, "1 down, 2 initialising, 3 armed, 4 active"},
		{"ib.port_phys_state", UnitNone, 0, Wraps, NoDirection, Gauge, NoSide, NoMetric, "2 polling, 3 disabled, 4 training, 5 link up, 6 error recovery"},
		{"ib.rate_megabits", UnitNone, 0, Wraps, NoDirection, Gauge, NoSide, NoMetric, "rate of the link, Mb/s"},
		{"ib.port_xmit_discards", Packets, 16, Saturates, Tx, Counter, Egress, DropRate, "packets the port dropped"},
	}
	t = append(t, diagnostic("ib", 16, "symbol_error", "port_rcv_errors", "port_rcv_remote_physical_errors",
		"port_rcv_switch_relay_errors", "VL15_dropped", "qp1_dropped")...)
	t = append(t, diagnostic("ib", 8, "link_error_recovery", "link_downed", "port_xmit_constraint_errors", "port_rcv_constraint_errors")...)
	t = append(t, diagnostic("ib", 4, "local_link_integrity_errors", "excessive_buffer_overrun_errors")...)
	t = append(t, diagnostic("ib", 64, "unicast_xmit_packets", "unicast_rcv_packets", "multicast_xmit_packets", "multicast_rcv_packets")...)
	for i := range t {
		if t[i].Metric == NoMetric && t[i].Width < 64 {
			t[i].Overflow = Saturates
		}
	}
	return t
}

// roceHardwareCounters are files under hw_counters of /sys/class/infiniband.
// Those of rxe (soft-RoCE) and bnxt_re are 64-bit, the rest 32-bit; all wrap.
func roceHardwareCounters() []CounterInfo {
	t := diagnostic("hw", 32, "duplicate_request", "implied_nak_seq_err", "local_ack_timeout_err", "out_of_buffer",
		"out_of_sequence", "packet_seq_err", "req_cqe_error", "req_cqe_flush_error", "req_remote_access_errors",
		"req_remote_invalid_request", "resp_cqe_error", "resp_cqe_flush_error", "resp_local_length_error",
		"resp_remote_access_errors", "rnr_nak_retry_err", "roce_adp_retrans", "roce_adp_retrans_to", "roce_slow_restart",
		"roce_slow_restart_cnps", "roce_slow_restart_trans", "rx_atomic_requests", "rx_dct_connect", "rx_icrc_encapsulated",
		"rx_read_requests", "rx_write_requests", "np_cnp_sent", "np_ecn_marked_roce_packets", "rp_cnp_handled", "rp_cnp_ignored")
	t = append(t,
		CounterInfo{"bnxt_re.rx_bytes", Bytes, 64, Wraps, Rx, Counter, Ingress, Throughput, "RoCE octets received"},
		CounterInfo{"bnxt_re.tx_bytes", Bytes, 64, Wraps, Tx, Counter, Egress, Throughput, "RoCE octets sent"},
		CounterInfo{"bnxt_re.rx_pkts", Packets, 64, Wraps, Rx, Counter, Ingress, PacketRate, "RoCE packets received"},
		CounterInfo{"bnxt_re.tx_pkts", Packets, 64, Wraps, Tx, Counter, Egress, PacketRate, "RoCE packets sent"},
		CounterInfo{"rxe.sent_pkts", Packets, 64, Wraps, Tx, Counter, Egress, PacketRate, "soft-RoCE packets sent"},
		CounterInfo{"rxe.rcvd_pkts", Packets, 64, Wraps, Rx, Counter, Ingress, PacketRate, "soft-RoCE packets received"})
	t = append(t, diagnostic("bnxt_re", 64, "rx_out_of_buffer", "oos_drop_count", "to_retransmits", "rnr_naks_rcvd",
		"res_rx_pci_err", "res_tx_pci_err")...)
	return append(t, diagnostic("rxe", 64, "ack_deferred", "completer_retry_err", "duplicate_request", "link_downed",
		"out_of_seq_request", "rcvd_rnr_err", "rcvd_seq_err", "rdma_recvs", "rdma_sends", "retry_exceeded_err",
		"retry_rnr_exceeded_err", "send_err", "send_rnr_err")...)
}

// mlx5Counters are ethtool statistics of NVIDIA ConnectX (kernel document
// networking/device_drivers/ethernet/mellanox/mlx5/counters).
func mlx5Counters() []CounterInfo {
	t := []CounterInfo{
		{"mlx5.tx_bytes_phy", Bytes, 64, Wraps, Tx, Counter, Egress, Throughput, "octets sent on the wire"},
		{"mlx5.rx_bytes_phy", Bytes, 64, Wraps, Rx, Counter, Ingress, Throughput, "octets received from the wire"},
		{"mlx5.tx_packets_phy", Packets, 64, Wraps, Tx, Counter, Egress, PacketRate, "packets sent on the wire"},
		{"mlx5.rx_packets_phy", Packets, 64, Wraps, Rx, Counter, Ingress, PacketRate, "packets received from the wire"},
		{"mlx5.tx_vport_rdma_unicast_bytes", Bytes, 64, Wraps, Tx, Counter, Egress, Throughput, "RoCE octets sent"},
		{"mlx5.rx_vport_rdma_unicast_bytes", Bytes, 64, Wraps, Rx, Counter, Ingress, Throughput, "RoCE octets received"},
		{"mlx5.tx_vport_rdma_unicast_packets", Packets, 64, Wraps, Tx, Counter, Egress, PacketRate, "RoCE packets sent"},
		{"mlx5.rx_vport_rdma_unicast_packets", Packets, 64, Wraps, Rx, Counter, Ingress, PacketRate, "RoCE packets received"},
		{"mlx5.outbound_pci_stalled_rd", Percent, 0, Wraps, Tx, Gauge, Egress, PCIeStallRead, "share of the last second, reads from host memory"},
		{"mlx5.outbound_pci_stalled_wr", Percent, 0, Wraps, Rx, Gauge, Ingress, PCIeStallWrite, "share of the last second, writes to host memory"},
		{"mlx5.outbound_pci_buffer_overflow", Packets, 64, Wraps, Rx, Counter, Ingress, DropRate, "dropped: the host did not accept them"},
		{"mlx5.rx_discards_phy", Packets, 64, Wraps, Rx, Counter, Ingress, DropRate, "dropped for lack of buffers"},
		{"mlx5.tx_discards_phy", Packets, 64, Wraps, Tx, Counter, Egress, DropRate, "dropped while sending"},
		{"mlx5.rx_global_pause_duration", Microseconds, 64, Wraps, Rx, Counter, Egress, PauseRx, "this port was paused"},
		{"mlx5.tx_global_pause_duration", Microseconds, 64, Wraps, Tx, Counter, Ingress, PauseRx, "this port paused its peer"},
	}
	for p := range 8 {
		n := func(format string) string { return fmt.Sprintf("mlx5."+format, p) }
		t = append(t,
			CounterInfo{n("rx_prio%d_pause_duration"), Microseconds, 64, Wraps, Rx, Counter, Egress, PFCPauseRx(p), "this port was paused"},
			CounterInfo{n("tx_prio%d_pause_duration"), Microseconds, 64, Wraps, Tx, Counter, Ingress, PFCPauseRx(p), "this port paused its peer: the host is slow"},
			CounterInfo{n("rx_prio%d_discards"), Packets, 64, Wraps, Rx, Counter, Ingress, DropRate, "dropped for lack of buffers"},
			CounterInfo{n("rx_prio%d_pause"), Packets, 64, Wraps, Rx, Counter, Egress, NoMetric, "pause frames received"},
			CounterInfo{n("tx_prio%d_pause"), Packets, 64, Wraps, Tx, Counter, Ingress, NoMetric, "pause frames sent"},
			CounterInfo{n("rx_prio%d_pause_transition"), Events, 64, Wraps, Rx, Counter, Egress, NoMetric, "changes from Xoff to Xon"})
	}
	return append(t, diagnostic("mlx5", 64, "outbound_pci_stalled_rd_events", "outbound_pci_stalled_wr_events",
		"rx_buffer_passed_thres_phy", "tx_pause_storm_warning_events", "tx_pause_storm_error_events",
		"rx_pci_signal_integrity", "tx_pci_signal_integrity", "rx_pause_ctrl_phy", "tx_pause_ctrl_phy",
		"rx_global_pause", "tx_global_pause", "rx_global_pause_transition",
		"rx_crc_errors_phy", "rx_symbol_err_phy", "link_down_events_phy")...)
}

// bnxtCounters are ethtool statistics of Broadcom NetXtreme-E.
func bnxtCounters() []CounterInfo {
	t := []CounterInfo{
		{"bnxt.tx_total_bytes", Bytes, 64, Wraps, Tx, Counter, Egress, Throughput, "octets sent"},
		{"bnxt.rx_total_bytes", Bytes, 64, Wraps, Rx, Counter, Ingress, Throughput, "octets received"},
		{"bnxt.rx_bytes", Bytes, 64, Wraps, Rx, Counter, Ingress, Throughput, "octets received on the wire"},
		{"bnxt.tx_bytes", Bytes, 64, Wraps, Tx, Counter, Egress, Throughput, "octets sent on the wire"},
		{"bnxt.rx_total_discard_pkts", Packets, 64, Wraps, Rx, Counter, Ingress, DropRate, "packets dropped"},
	}
	for p := range 8 {
		n := func(format string) string { return fmt.Sprintf("bnxt."+format, p) }
		t = append(t,
			CounterInfo{n("pfc_pri%d_rx_duration_us"), Microseconds, 64, Wraps, Rx, Counter, Egress, PFCPauseRx(p), "this port was paused"},
			CounterInfo{n("pfc_pri%d_tx_duration_us"), Microseconds, 64, Wraps, Tx, Counter, Ingress, PFCPauseRx(p), "this port paused its peer"},
			CounterInfo{n("pfc_pri%d_rx_transitions"), Events, 64, Wraps, Rx, Counter, Egress, NoMetric, "changes of the pause state"},
			CounterInfo{n("pfc_pri%d_tx_transitions"), Events, 64, Wraps, Tx, Counter, Ingress, NoMetric, "changes of the pause state"},
			CounterInfo{n("rx_pfc_ena_frames_pri%d"), Packets, 64, Wraps, Rx, Counter, Egress, NoMetric, "pause frames received"},
			CounterInfo{n("tx_pfc_ena_frames_pri%d"), Packets, 64, Wraps, Tx, Counter, Ingress, NoMetric, "pause frames sent"})
	}
	return append(t, diagnostic("bnxt", 64, "rx_pause_frames", "tx_pause_frames", "rx_pfc_frames", "tx_pfc_frames",
		"continuous_pause_events", "resume_pause_events", "continuous_roce_pause_events", "resume_roce_pause_events")...)
}

// iceCounters are ethtool statistics of Intel E800. The hardware counts pause
// frames, not their duration, so no pause ratio can be derived.
func iceCounters() []CounterInfo {
	t := []CounterInfo{
		{"ice.tx_bytes.nic", Bytes, 40, Wraps, Tx, Counter, Egress, Throughput, "octets sent"},
		{"ice.rx_bytes.nic", Bytes, 40, Wraps, Rx, Counter, Ingress, Throughput, "octets received"},
		{"ice.tx_dropped_link_down.nic", Packets, 32, Wraps, Tx, Counter, Egress, DropRate, "dropped: link down"},
		{"ice.rx_dropped.nic", Packets, 32, Wraps, Rx, Counter, Ingress, DropRate, "dropped for lack of buffers"},
	}
	for p := range 8 {
		t = append(t, diagnostic("ice", 32, fmt.Sprintf("tx_priority_%d_xon.nic", p), fmt.Sprintf("tx_priority_%d_xoff.nic", p),
			fmt.Sprintf("rx_priority_%d_xon.nic", p), fmt.Sprintf("rx_priority_%d_xoff.nic", p))...)
	}
	return append(t, diagnostic("ice", 32, "link_xon_rx.nic", "link_xon_tx.nic", "link_xoff_rx.nic", "link_xoff_tx.nic")...)
}

// switchCounters are the counters of Ethernet switches (SONiC's COUNTERS_DB,
// named after the SAI) and Slingshot NICs (cxi, cycles at 1 GHz, 56 bits).
func switchCounters() []CounterInfo {
	t := []CounterInfo{
		{"sai.port_stat_if_out_octets", Bytes, 64, Wraps, Tx, Counter, Egress, Throughput, "octets sent"},
		{"sai.port_stat_if_in_octets", Bytes, 64, Wraps, Rx, Counter, Ingress, Throughput, "octets received"},
		{"sai.port_stat_if_out_discards", Packets, 64, Wraps, Tx, Counter, Egress, DropRate, "packets dropped"},
		{"sai.port_stat_if_in_discards", Packets, 64, Wraps, Rx, Counter, Ingress, DropRate, "packets dropped"},
	}
	for p := range 8 {
		n := func(format string) string { return fmt.Sprintf(format, p) }
		t = append(t,
			CounterInfo{n("sai.port_stat_pfc_%d_rx_pause_duration_us"), Microseconds, 64, Wraps, Rx, Counter, Egress, PFCPauseRx(p), "this port was paused"},
			CounterInfo{n("sai.port_stat_pfc_%d_tx_pause_duration_us"), Microseconds, 64, Wraps, Tx, Counter, Ingress, PFCPauseRx(p), "this port paused its peer"},
			CounterInfo{n("sai.port_stat_pfc_%d_rx_pkts"), Packets, 64, Wraps, Rx, Counter, Egress, NoMetric, "pause frames received; some switches count Xon too"},
			CounterInfo{n("sai.port_stat_pfc_%d_tx_pkts"), Packets, 64, Wraps, Tx, Counter, Ingress, NoMetric, "pause frames sent"},
			CounterInfo{n("cxi.hni_rx_paused_%d"), Cycles1GHz, 56, Wraps, Rx, Counter, Ingress, PFCPauseRx(p), "receive side paused: the endpoint is slow"},
			CounterInfo{n("cxi.hni_tx_paused_%d"), Cycles1GHz, 56, Wraps, Tx, Counter, Egress, PFCPauseRx(p), "transmit side paused"})
	}
	return t
}

// geminiCounters are gpcdr's directional aggregates on Cray Gemini: derived
// percentages as LDMS publishes them (x 1e6), and the underlying 48-bit
// counters as a simulator or a reader of the raw device reports them.
func geminiCounters() []CounterInfo {
	return []CounterInfo{
		{"gemini.credit_stall", PercentE6, 0, Wraps, Tx, DerivedPercent, Egress, CreditStall, "percent of time x 1e6"},
		{"gemini.inq_stall", PercentE6, 0, Wraps, Tx, DerivedPercent, Egress, InqStall, "percent of time x 1e6"},
		{"gemini.used_bw", PercentE6, 0, Wraps, Tx, DerivedPercent, Egress, BandwidthUsed, "percent of capacity x 1e6"},
		{"gemini.credit_stall_ns", Nanoseconds, 48, Wraps, Tx, Counter, Egress, CreditStall, "time stalled for credits, mean over the link's tiles"},
		{"gemini.inq_stall_ns", Nanoseconds, 48, Wraps, Tx, Counter, Egress, InqStall, "time stalled in the switch, mean over the link's tiles"},
		{"gemini.traffic_bytes", Bytes, 48, Wraps, Tx, Counter, Egress, Throughput, "octets sent"},
		{"gemini.traffic_packets", Packets, 48, Wraps, Tx, Counter, Egress, PacketRate, "packets sent"},
	}
}
