package linkhealth

import (
	"math"
	"testing"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

func monitorOf(t *testing.T, spec string) *Monitor {
	t.Helper()
	g := topologytest.Parse(t, "f", spec)
	m, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Rates of a saved state fade during the intervals stored since, each once.
func TestRestoredRatesFade(t *testing.T) {
	const minute = int64(time.Minute)
	m := monitorOf(t, "mesh:3")
	m.until = 10 * minute
	m.ends[1].tallies = &[numCounters]tally{{hourly: 100}}
	for n, start := range []int64{9, 10, 11, 11} { // the first and the last are included already
		m.Restore(schema.Interval{StartNanos: start * minute, DurationNanos: minute}, nil)
		if want := 100 * math.Exp(-float64(min(n, 2))/60); math.Abs(m.ends[1].tallies[0].hourly-want) > 1e-9 || m.until != (start+1)*minute {
			t.Errorf("after %d intervals: %v per hour until %v, want %v", n+1, m.ends[1].tallies[0].hourly, time.Duration(m.until), want)
		}
	}
}

// A device that a stored event calls failed has recovered as soon as it answers.
func TestRestoredFailuresAreConfirmed(t *testing.T) {
	m := monitorOf(t, "fattree:leaves=2,hosts=2,spines=1")
	m.Restore(schema.Interval{DurationNanos: 1}, []schema.Event{{Kind: schema.NodeFailed, Device: "host0"}, {Kind: schema.LinkErrors, Device: "none", Port: "1"}})
	for d := range m.devices {
		w, failed := m.devices[d], m.graph.Device(topology.DeviceID(d)).Name == "host0"
		if w.failed != failed || w.confirmed != failed {
			t.Errorf("device %s: %+v", m.graph.Device(topology.DeviceID(d)).Name, w)
		}
	}
}

func TestStatesOfOthersAreRefused(t *testing.T) {
	m := monitorOf(t, "mesh:3")
	g := topologytest.Parse(t, "f", "mesh:4")
	if _, err := Load(g, DefaultConfig(), m.Save()); err == nil {
		t.Error("a state of another version of the fabric is loaded")
	}
	saved := m.Save()
	for cut := range saved {
		if _, err := Load(m.graph, DefaultConfig(), saved[:cut]); err == nil {
			t.Errorf("a state of %d bytes, cut at %d, is loaded", len(saved), cut)
		}
	}
}
