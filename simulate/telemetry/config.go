package telemetry

import (
	"errors"
	"fmt"
	"math"
)

// Kind is the hardware whose counters are reported.
type Kind string

// Kinds of hardware.
const (
	Gemini     Kind = "gemini"     // gemini.* of every port of every switch
	InfiniBand Kind = "infiniband" // ib.* of every port
	RoCE       Kind = "roce"       // mlx5.* of hosts, sai.* of switches
)

// Config describes the devices and the quality of their reports.
type Config struct {
	Kind     Kind
	Agent    string
	Priority int // of the lossless traffic for RoCE, 0 to 7
	// PacketBytes is the mean size of a packet.
	PacketBytes float64
	// TickPicoseconds is the length of InfiniBand's tick.
	TickPicoseconds uint64

	// FloorPercent is the mean stall of an unblocked channel; channels differ by a
	// factor, and slow waves pass over the fabric.
	FloorPercent float64
	// WavePercent is the height of those waves, WaveIntervals their period.
	WavePercent   float64
	WaveIntervals float64
	// SpreadPercent is the standard deviation of a calm channel's readings; SpreadShare
	// of the stall is added.
	SpreadPercent float64
	SpreadShare   float64

	JitterMicros float64 // maximum delay of a device's reading after the interval's end
	SkewMicros   float64 // standard deviation of the devices' clocks
	LossShare    float64 // of a device's readings, that never arrive
	LateShare    float64 // of a device's readings, that arrive an interval late
}

// DefaultConfig describes healthy hardware of a kind.
func DefaultConfig(kind Kind) Config {
	c := Config{Kind: kind, Agent: "simulator", Priority: 3, PacketBytes: 4096, TickPicoseconds: 1000,
		FloorPercent: 1.1, WavePercent: .5, WaveIntervals: 25, SpreadPercent: .35, SpreadShare: .04, JitterMicros: 3000}
	switch kind {
	case Gemini:
		c.PacketBytes = 56
	case InfiniBand:
		c.FloorPercent, c.WavePercent = .6, .3
	case RoCE:
		c.FloorPercent, c.WavePercent, c.SpreadPercent = .1, .05, .1
	}
	return c
}

// Validate joins all errors.
func (c Config) Validate() error {
	var errs []error
	switch c.Kind {
	case Gemini, InfiniBand, RoCE:
	default:
		errs = append(errs, fmt.Errorf("kind %q: want %s, %s or %s", c.Kind, Gemini, InfiniBand, RoCE))
	}
	if c.Priority < 0 || c.Priority > 7 {
		errs = append(errs, fmt.Errorf("priority %d: want 0 to 7", c.Priority))
	}
	if !(c.PacketBytes >= 1) || math.IsInf(c.PacketBytes, 0) {
		errs = append(errs, fmt.Errorf("packet_bytes %v: want 1 or more", c.PacketBytes))
	}
	if c.TickPicoseconds == 0 {
		errs = append(errs, errors.New("tick_picoseconds 0: want 1 or more"))
	}
	for _, f := range []struct {
		name  string
		value float64
		most  float64
	}{{"floor_percent", c.FloorPercent, 100}, {"wave_percent", c.WavePercent, 100}, {"spread_percent", c.SpreadPercent, 100},
		{"spread_share", c.SpreadShare, 1}, {"loss_share", c.LossShare, 1}, {"late_share", c.LateShare, 1},
		{"jitter_micros", c.JitterMicros, 1e12}, {"skew_micros", c.SkewMicros, 1e12}} {
		if !(f.value >= 0 && f.value <= f.most) {
			errs = append(errs, fmt.Errorf("%s %v: want 0 to %v", f.name, f.value, f.most))
		}
	}
	if !(c.WaveIntervals > 0) {
		errs = append(errs, fmt.Errorf("wave_intervals %v: want more than 0", c.WaveIntervals))
	}
	return errors.Join(errs...)
}
