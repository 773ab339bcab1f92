package telemetry

import (
	"fmt"
	"math/rand/v2"

	"github.com/giverny/giverny/schema"
)

// quantity is a per-second quantity of a channel or an endpoint.
type quantity uint8

const (
	creditNanos  quantity = iota // ns of credit stall
	inqNanos                     // ns of stall inside the switch
	waitTicks                    // ticks of either, InfiniBand's xmit_wait
	pauseMicros                  // us of pause
	pauseFrames                  // pause frames
	trafficBytes                 // octets
	trafficWords                 // octets / 4
	packets                      // packets
	lostPackets                  // discarded in front of a channel that is down
	tick                         // gauge: the length of a tick, ps
	hostStall                    // gauge: percent of time that the host does not accept what arrives
	quantities
)

// column is one counter of a set: a quantity of the channel on one side of the port,
// named as in schema.
type column struct {
	name   string
	of     quantity
	side   schema.Side
	most   uint64 // the largest value of the counter; 0 for a gauge
	sticks bool   // saturates at its largest value; otherwise it wraps around
}

// age is a random initial value of a counter, at most half of the 64-bit range, which
// no device exceeds; saturating counters have been cleared.
func (c *column) age(rng *rand.Rand) uint64 {
	if c.sticks {
		return 0
	}
	return rng.Uint64() >> 1 & c.most
}

// raise increases a counter's value within its width.
func (c *column) raise(value, by uint64) uint64 {
	if c.sticks {
		return min(c.most, value+by)
	}
	return (value + by) & c.most
}

func columnsOf(list []column) []column {
	for i := range list {
		info, ok := schema.LookupCounter(list[i].name)
		if !ok {
			panic("telemetry: the schema has no counter " + list[i].name)
		}
		if list[i].side == schema.NoSide {
			list[i].side = info.Side
		}
		if info.Kind == schema.Counter {
			list[i].most, list[i].sticks = info.MaxValue(), info.Overflow == schema.Saturates
		}
	}
	return list
}

func geminiColumns() []column {
	return columnsOf([]column{{name: "gemini.credit_stall_ns", of: creditNanos}, {name: "gemini.inq_stall_ns", of: inqNanos},
		{name: "gemini.traffic_bytes", of: trafficBytes}, {name: "gemini.traffic_packets", of: packets}})
}

func infinibandColumns() []column {
	return columnsOf([]column{{name: "ib.port_xmit_data", of: trafficWords}, {name: "ib.port_rcv_data", of: trafficWords},
		{name: "ib.port_xmit_packets", of: packets}, {name: "ib.port_rcv_packets", of: packets},
		{name: "ib.port_xmit_wait", of: waitTicks}, {name: "ib.port_xmit_discards", of: lostPackets}, {name: schema.TickColumn, of: tick}})
}

// mlx5Columns are the counters of a host. Received pauses stop its own sending; sent
// pauses hold up the channel into it.
func mlx5Columns(priority int) []column {
	p := func(format string) string { return fmt.Sprintf(format, priority) }
	return columnsOf([]column{{name: "mlx5.tx_bytes_phy", of: trafficBytes}, {name: "mlx5.rx_bytes_phy", of: trafficBytes},
		{name: "mlx5.tx_packets_phy", of: packets}, {name: "mlx5.rx_packets_phy", of: packets},
		{name: p("mlx5.rx_prio%d_pause_duration"), of: pauseMicros}, {name: p("mlx5.tx_prio%d_pause_duration"), of: pauseMicros},
		{name: p("mlx5.rx_prio%d_pause"), of: pauseFrames}, {name: p("mlx5.tx_prio%d_pause"), of: pauseFrames},
		{name: "mlx5.rx_discards_phy", of: lostPackets}, {name: "mlx5.tx_discards_phy", of: lostPackets},
		{name: "mlx5.outbound_pci_stalled_wr", of: hostStall}})
}

func saiColumns(priority int) []column {
	p := func(format string) string { return fmt.Sprintf(format, priority) }
	return columnsOf([]column{{name: "sai.port_stat_if_out_octets", of: trafficBytes}, {name: "sai.port_stat_if_in_octets", of: trafficBytes},
		{name: p("sai.port_stat_pfc_%d_rx_pause_duration_us"), of: pauseMicros}, {name: p("sai.port_stat_pfc_%d_tx_pause_duration_us"), of: pauseMicros},
		{name: p("sai.port_stat_pfc_%d_rx_pkts"), of: pauseFrames}, {name: p("sai.port_stat_pfc_%d_tx_pkts"), of: pauseFrames},
		{name: "sai.port_stat_if_out_discards", of: lostPackets}})
}
