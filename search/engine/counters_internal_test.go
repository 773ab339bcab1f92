package engine

import (
	"math"
	"testing"
)

func TestPausePercent(t *testing.T) {
	const seconds, gbps = 2, 100
	for name, test := range map[string]struct {
		counters counters
		want     float64
	}{
		"no counters":                    {counters{"counters/port_rcv_data": 1e6}, 0},
		"micros":                         {counters{"ethtool/tx_prio3_pause_duration": 500_000, "ethtool/tx_prio3_pause": 9}, 25},
		"the largest of the durations":   {counters{"ethtool/tx_prio3_pause_duration": 500_000, "ethtool/tx_global_pause_duration": 600_000}, 30},
		"received pause is the peer's":   {counters{"ethtool/rx_prio3_pause_duration": 500_000, "ethtool/rx_prio3_pause": 9}, 0},
		"frames without durations":       {counters{"ethtool/tx_pause_frames": 1000, "ethtool/tx_prio3_pause": 1000}, 100 * 2000 * 335.5392e-6 / seconds},
		"frames, the measured time is 0": {counters{"ethtool/tx_prio3_pause": 1000, "ethtool/tx_prio3_pause_duration": 0}, 0},
		"at most all of the time":        {counters{"ethtool/tx_pause": 1e9}, 100},
	} {
		if got := test.counters.pausePercent(seconds, gbps); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: %v%%, want %v%%", name, got, test.want)
		}
	}
}
