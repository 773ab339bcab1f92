package linkhealth_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/giverny/giverny/linkhealth"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// lossy is a fabric in which a share of the devices' or ports' answers is lost at random.
type lossy struct {
	graph   *topology.Graph
	monitor *linkhealth.Monitor
	random  *rand.Rand
	at      schema.Interval
}

func newLossy(t *testing.T, spec string, seed uint64) *lossy {
	l := &lossy{random: rand.New(rand.NewPCG(seed, 1)), at: schema.IntervalAt(0, int64(time.Second))}
	var err error
	if l.graph, err = topology.Parse("f", spec); err != nil {
		t.Fatal(err)
	}
	if l.monitor, err = linkhealth.New(l.graph, linkhealth.DefaultConfig()); err != nil {
		t.Fatal(err)
	}
	return l
}

// step is an interval in which a share of the answers is lost, and all of a failed device (-1: none).
func (l *lossy) step(share float64, byPort bool, gone int) (events []schema.Event) {
	lost := make([]bool, l.graph.NumDevices())
	for d := range lost {
		lost[d] = !byPort && l.random.Float64() < share || d == gone
	}
	presence := map[schema.PortName]schema.Presence{}
	of := func(d topology.DeviceID, port string) schema.Presence {
		name := schema.PortName{Device: l.graph.Device(d).Name, Port: port}
		if _, known := presence[name]; !known {
			presence[name] = schema.Heard
			if lost[d] || byPort && l.random.Float64() < share {
				presence[name] = schema.Missed
			}
		}
		return presence[name]
	}
	snap := &schema.Snapshot{Fabric: "f", Interval: l.at, Links: l.graph.NumLinks()}
	for id := range schema.LinkID(snap.Links) {
		link := l.graph.Link(id)
		snap.Ports.From, snap.Ports.To = append(snap.Ports.From, of(link.From, link.FromPort)), append(snap.Ports.To, of(link.To, link.ToPort))
	}
	l.at = l.at.Next()
	return l.monitor.Step(snap, nil, nil)
}

// Randomly lost readings are not failures, from the first interval on; a failing node is still detected, and without
// delay once the loss is over.
func TestRandomLossIsNoFailure(t *testing.T) {
	for _, spec := range []string{"torus:6x6x6", "fattree:leaves=8,hosts=16,spines=4"} {
		for _, byPort := range []bool{false, true} {
			for _, share := range []float64{.02, .2, .4} {
				t.Run(fmt.Sprintf("%s/%v of ports %v", spec, share, byPort), func(t *testing.T) {
					l := newLossy(t, spec, 7)
					for i := range 300 {
						rate := share
						if i < 70 {
							rate = 0
						}
						if e := l.step(rate, byPort, -1); len(e) > 0 {
							t.Fatalf("interval %d: %d events, the first %+v", i, len(e), e[0])
						}
					}
					const gone = 0
					if n := l.until(t, share, byPort, gone); n > 40 {
						t.Errorf("seen after %d intervals", n)
					}
					if n := l.until(t, share, byPort, -1); n > 20 {
						t.Errorf("back after %d intervals", n)
					}
					for range 700 {
						l.step(0, byPort, -1)
					}
					if n := l.until(t, 0, byPort, gone); n != 2 {
						t.Errorf("without loss seen after %d intervals, want 2", n)
					}
				})
			}
		}
	}
}

// until steps until there is an event, which must be about the first device.
func (l *lossy) until(t *testing.T, share float64, byPort bool, gone int) int {
	t.Helper()
	for n := 1; n <= 200; n++ {
		if e := l.step(share, byPort, gone); len(e) > 0 {
			t.Log(n, e[0].Kind, e[0].Detail)
			if first := l.graph.Device(0).Name; len(e) != 1 || e[0].Device != first {
				t.Fatalf("events %+v, want one of %s", e, first)
			}
			return n
		}
	}
	t.Fatal("no event")
	return 0
}

// A new process knows the loss rate from the saved state; without it, it learns the
// rate at once.
func TestLossSurvivesARestart(t *testing.T) {
	l := newLossy(t, "torus:8x8x8", 3)
	for range 50 {
		l.step(.3, false, -1)
	}
	for i := range 200 {
		saved := l.monitor.Save()
		m, err := linkhealth.Load(l.graph, linkhealth.DefaultConfig(), saved)
		if err != nil {
			t.Fatal(err)
		}
		l.monitor = m
		if e := l.step(.3, false, -1); len(e) > 0 {
			t.Fatalf("interval %d: %+v", i, e[0])
		}
	}
}
