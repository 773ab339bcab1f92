package engine_test

import (
	"math"
	"testing"
	"time"

	"github.com/giverny/giverny/search/engine"
	"github.com/giverny/giverny/search/simulated"
)

// Invalid shares and negative latencies are refused.
func TestImpossibleSimulatedEngines(t *testing.T) {
	for _, c := range []engine.SimulatedConfig{
		{Subsystem: "Z"},
		{Subsystem: "F", Latency: -time.Second},
		{Subsystem: "F", Flaky: simulated.Flakiness{MissedSymptom: 2}},
		{Subsystem: "F", Flaky: simulated.Flakiness{MissedSymptom: -.1}},
		{Subsystem: "F", Flaky: simulated.Flakiness{SetupFailed: math.NaN()}},
	} {
		if _, err := engine.NewSimulated(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	if _, err := engine.NewSimulated(engine.SimulatedConfig{Subsystem: "H", Flaky: simulated.Flakiness{SetupFailed: 1}}); err != nil {
		t.Error(err)
	}
}
