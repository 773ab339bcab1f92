package packet

import (
	"math"
	"testing"

	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

func newSim(t testing.TB, spec string, cfg Config) *Sim {
	t.Helper()
	g := topologytest.Parse(t, "f", spec)
	s, err := New(g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func post(t testing.TB, s *Sim, r Request) TransferID {
	t.Helper()
	id, err := s.Post(r)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func drain(s *Sim) {
	for {
		if _, ok := s.Next(Never); !ok {
			return
		}
	}
}

const mib = 1 << 20

// TestSinglePut checks the closed forms of one put: n = 1 and n > 1 packets.
func TestSinglePut(t *testing.T) {
	for _, c := range []struct {
		name              string
		to                topology.DeviceID
		verb              Verb
		bytes             int64
		arrive, completed float64
	}{
		{"4 B, one switch", 1, Put, 4, 145.0571, 294.2571},
		{"4 B, three switches", 5, Put, 4, 426.2571, 856.6571},
		{"1 MiB, one switch", 1, Put, mib, 377119.4857, 377268.6857},
		{"1 MiB, three switches", 5, Put, mib, 377400.6857, 377831.0857},
		{"get of 4 B", 1, Get, 4, 294.2571, 294.2571},
		{"intra-node", 0, Put, mib, 374491.4286, 374491.4286},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSim(t, "fattree:leaves=4,hosts=4,spines=4", DefaultConfig())
			id := post(t, s, Request{Verb: c.verb, From: 0, To: c.to, Bytes: c.bytes})
			drain(s)
			got := s.Times(id)
			if math.Abs(got.Arrived.Nanoseconds()-c.arrive) > 0.001 || math.Abs(got.Completed.Nanoseconds()-c.completed) > 0.001 {
				t.Errorf("arrived %.4f, completed %.4f ns, want %.4f, %.4f", got.Arrived.Nanoseconds(), got.Completed.Nanoseconds(), c.arrive, c.completed)
			}
		})
	}
}
