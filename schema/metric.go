package schema

import "fmt"

// Metric is a quantity of a link in an interval. Its number is stable only
// within one build; its name is what is stored.
type Metric uint8

// Metrics. Stall and pause metrics are percent of time, 0 to 100.
const (
	NoMetric       Metric = iota
	CreditStall           // waiting for credits of the next switch (Monet, definition 1)
	InqStall              // waiting inside the switch (Monet, definition 2)
	XmitWait              // InfiniBand PortXmitWait as percent of time
	PCIeStallRead         // outbound PCIe reads stalled: the host does not supply its transmitter in time
	PCIeStallWrite        // outbound PCIe writes stalled: the host cannot absorb what arrives
	PauseRx               // link-level pause (802.3x), or PFC of all priorities if only the sum is known, of the link's sender
	PauseTx               // likewise, as its receiver tells it where that is kept apart: no counter is read as this
	pfcRx0                // PFC pause ratio rx, priorities 0..7
	_                     //
	_                     //
	_                     //
	_                     //
	_                     //
	_                     //
	_                     //
	pfcTx0                // likewise, as the link's receiver tells it where that is kept apart
	_                     //
	_                     //
	_                     //
	_                     //
	_                     //
	_                     //
	_                     //
	BandwidthUsed         // percent of the link's capacity
	Throughput            // bytes per second
	PacketRate            // packets per second
	DropRate              // packets dropped per second
	numMetrics
)

// NumMetrics is the number of Metrics, for tables indexed by Metric.
const NumMetrics = int(numMetrics)

// PFCPauseRx is the PFC pause ratio of a priority (IEEE 802.1Qbb, 0..7):
// percent of time in which the sender of the link had to be silent. Its sender
// counts the pauses that it received, its receiver those that it sent; both are
// read as this one metric.
func PFCPauseRx(priority int) Metric { return pfcRx0 + Metric(priority&7) }

// PFCPauseTx is the same as the receiver of the link tells it, for data in
// which that is kept apart, such as a links CSV. No counter is read as this.
func PFCPauseTx(priority int) Metric { return pfcTx0 + Metric(priority&7) }

// Unit is the unit of a counter or metric.
type Unit uint8

// Units.
const (
	UnitNone Unit = iota
	Percent
	PercentE6 // percent x 1e6, as Gemini's gpcdr reports it
	BytesPerSecond
	PacketsPerSecond
	Bytes
	Words4  // 4-octet words, as InfiniBand counts data
	Packets // or frames
	Events
	Ticks // of a device-specific length
	Picoseconds
	Nanoseconds
	Microseconds
	Seconds
	Cycles1GHz
)

var unitNames = [...]string{"", "percent", "percent x 1e6", "bytes/s", "packets/s", "bytes", "4-octet words",
	"packets", "events", "ticks", "ps", "ns", "us", "s", "cycles at 1 GHz"}

func (u Unit) String() string { return unitNames[u] }

type metricRow struct {
	name string
	unit Unit
	help string
}

var metricTable = buildMetricTable()

func buildMetricTable() (t [NumMetrics]metricRow) {
	t[NoMetric] = metricRow{"", UnitNone, ""}
	t[CreditStall] = metricRow{"credit_stall", Percent, "time stalled for lack of credits of the next switch"}
	t[InqStall] = metricRow{"inq_stall", Percent, "time stalled inside the switch"}
	t[XmitWait] = metricRow{"xmit_wait", Percent, "time an InfiniBand port had data to send and could not"}
	t[PCIeStallRead] = metricRow{"pcie_stall_read", Percent, "time outbound PCIe reads were stalled"}
	t[PCIeStallWrite] = metricRow{"pcie_stall_write", Percent, "time outbound PCIe writes were stalled"}
	t[PauseRx] = metricRow{"pause_rx", Percent, "time the link's sender was paused, all priorities"}
	t[PauseTx] = metricRow{"pause_tx", Percent, "time the link's receiver paused its sender, all priorities"}
	for p := range 8 {
		t[PFCPauseRx(p)] = metricRow{fmt.Sprintf("pfc_pause_rx_prio%d", p), Percent, fmt.Sprintf("time the link's sender was paused in priority %d", p)}
		t[PFCPauseTx(p)] = metricRow{fmt.Sprintf("pfc_pause_tx_prio%d", p), Percent, fmt.Sprintf("time the link's receiver paused its sender in priority %d", p)}
	}
	t[BandwidthUsed] = metricRow{"bandwidth_used", Percent, "share of the link's capacity in use"}
	t[Throughput] = metricRow{"throughput", BytesPerSecond, "data carried"}
	t[PacketRate] = metricRow{"packet_rate", PacketsPerSecond, "packets carried"}
	t[DropRate] = metricRow{"drop_rate", PacketsPerSecond, "packets dropped"}
	return t
}

// String returns the metric's name, empty for NoMetric.
func (m Metric) String() string {
	if int(m) < NumMetrics {
		return metricTable[m].name
	}
	return fmt.Sprintf("Metric(%d)", uint8(m))
}

// Unit returns the unit of the metric's values.
func (m Metric) Unit() Unit { return metricTable[m].unit }

// Help describes the metric in a few words.
func (m Metric) Help() string { return metricTable[m].help }

// IsStall reports whether the metric is a stall or pause ratio, which regions
// are grown on.
func (m Metric) IsStall() bool { return m >= CreditStall && m < BandwidthUsed }

// ParseMetric returns the metric with a name.
func ParseMetric(name string) (Metric, error) {
	for m, row := range metricTable {
		if row.name == name && name != "" {
			return Metric(m), nil
		}
	}
	return NoMetric, fmt.Errorf("unknown metric %q; docs/reference/counters.md lists them, such as credit_stall and xmit_wait", name)
}

// MarshalText encodes the metric as its name, in JSON and YAML.
func (m Metric) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText parses a metric's name.
func (m *Metric) UnmarshalText(b []byte) (err error) {
	*m, err = ParseMetric(string(b))
	return err
}
