package search

import (
	"fmt"
	"math"
)

// Description is an engine's description of itself: the reply to "describe" of the
// engine protocol.
type Description struct {
	Name            string      `json:"name"`
	LineRateGbps    float64     `json:"line_rate_gbps"`    // wire bytes, in one direction
	MessageRateMpps float64     `json:"message_rate_mpps"` // million packets per second, in one direction
	Dimensions      []Dimension `json:"dimensions"`
	Counters        []string    `json:"counters"` // diagnostic: higher is worse
	// PacketRates are calibrated bounds by packet size; if empty, MessageRateMpps applies.
	PacketRates []PacketRate `json:"packet_rates,omitempty"`
}

// Status is the outcome of a measurement.
type Status string

// Statuses of the engine protocol.
const (
	OK          Status = "ok"
	SetupFailed Status = "setup_failed" // counts as an experiment, without a verdict
	Invalid     Status = "invalid"      // the workload is infeasible; does not count
	NotQuiet    Status = "not_quiet"    // the fabric was congested: void
)

// Direction is the traffic of one direction of a measurement.
type Direction struct {
	Gbps      float64 `json:"gbps"` // wire bytes
	Mpps      float64 `json:"mpps"` // packets
	SizeBytes float64 `json:"size_bytes"`
}

// Measurement is an engine's measurement of one workload.
type Measurement struct {
	Status         Status             `json:"status"`
	Seconds        float64            `json:"seconds"`
	Directions     []Direction        `json:"directions"`       // only directions with traffic
	TxPausePercent []float64          `json:"tx_pause_percent"` // by host, of time
	Counters       map[string]float64 `json:"counters"`
}

// Check reports impossible values in a measurement.
func (m *Measurement) Check() error {
	switch m.Status {
	case SetupFailed, Invalid, NotQuiet:
		return nil
	case OK:
	default:
		return fmt.Errorf("status %.40q: want ok, setup_failed, invalid or not_quiet", m.Status)
	}
	if len(m.Directions) == 0 {
		return fmt.Errorf("directions is empty: want one for each direction with traffic")
	}
	for i, d := range m.Directions {
		if !plausible(d.Gbps) || !plausible(d.Mpps) {
			return fmt.Errorf("directions[%d]: %v Gb/s and %v million packets a second are impossible", i, d.Gbps, d.Mpps)
		}
	}
	for i, p := range m.TxPausePercent {
		if !plausible(p) || p > 100 {
			return fmt.Errorf("tx_pause_percent[%d] is %v: want 0 to 100", i, p)
		}
	}
	for name, v := range m.Counters {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("counter %q is %v", name, v)
		}
	}
	return nil
}

func plausible(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }
