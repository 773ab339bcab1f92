package pattern

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/simulate/packet"
	"github.com/giverny/giverny/simulate/routing"
)

// checkBreakdown: no part of a put's or get's time is negative, and the parts sum to
// the whole.
func checkBreakdown(t rapid.TB, rep *Report) {
	t.Helper()
	transfers := 0
	for i := range rep.Records {
		r := &rep.Records[i]
		if r.transfer < 0 || r.Complete == packet.Never {
			continue
		}
		transfers++
		if r.Alone <= 0 || min(r.DMAWait, r.Contention, r.ControlWait) < 0 {
			t.Fatalf("process %d, call %d: alone %d, waits for DMA %d, on links %d, on the way back %d fs", r.Process, r.Number, r.Alone, r.DMAWait, r.Contention, r.ControlWait)
		}
		if sum := r.Alone + r.DMAWait + r.Contention + r.ControlWait; sum != r.Complete-r.Start {
			t.Fatalf("process %d, call %d: parts sum to %d fs of %d", r.Process, r.Number, sum, r.Complete-r.Start)
		}
	}
	if w := rep.Waits(); transfers > 0 && min(w.DMAWait, w.Contention, w.ControlWait) < 0 {
		t.Fatalf("mean waits %+v", w)
	}
}

// TestBreakdownOfBuiltins checks every built-in pattern on every machine.
func TestBreakdownOfBuiltins(t *testing.T) {
	for _, m := range Models() {
		for _, b := range builtins {
			for _, fabric := range []string{"fattree:leaves=4,hosts=4,spines=2", "torus:4x4", "dragonfly:groups=4,routers=2,hosts=2"} {
				t.Run(fmt.Sprintf("%s/%s/%s", m.Name, b.name, fabric), func(t *testing.T) {
					spec := b.name
					if b.name == "halo" {
						spec += ":dims=4x4"
					} else {
						spec += ":processes=16"
					}
					if b.name != "barrier" {
						spec += ",bytes=256KiB,per-node=2"
					}
					g := parse(t, fabric)
					p, err := Builtin(spec, len(g.Hosts()))
					if err != nil {
						t.Fatal(err)
					}
					rep, err := Predict(g, m, p)
					if err != nil {
						t.Fatal(err)
					}
					checkBreakdown(t, rep)
				})
			}
		}
	}
}

// TestBreakdownOfRandomPatterns checks puts and gets between random processes on any
// machine.
func TestBreakdownOfRandomPatterns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fabric := rapid.SampledFrom([]string{"fattree:leaves=2,hosts=4,spines=2", "torus:3x3", "dragonfly:groups=4,routers=2,hosts=1"}).Draw(t, "fabric")
		g := parse(t, fabric)
		m := rapid.SampledFrom(Models()).Draw(t, "model")
		m.Packet.Seed = rapid.Int64Range(0, 99).Draw(t, "seed")
		m.Packet.AckBytes = rapid.SampledFrom([]int64{0, 60}).Draw(t, "ack")
		if fabric[0] == 'd' {
			m.Packet.Routing = rapid.SampledFrom([]routing.Policy{routing.Minimal, routing.Valiant}).Draw(t, "routing")
		}
		n := rapid.IntRange(1, 12).Draw(t, "processes")
		type call struct {
			get  bool
			peer int
			size int64
		}
		calls := make([][]call, n)
		for i := range calls {
			for range rapid.IntRange(0, 8).Draw(t, "calls") {
				calls[i] = append(calls[i], call{rapid.Bool().Draw(t, "get"), rapid.IntRange(0, n-1).Draw(t, "peer"),
					rapid.SampledFrom([]int64{1, 4096, 5000, 300_000}).Draw(t, "bytes")})
			}
		}
		program := New("random", n, rapid.IntRange(2, 3).Draw(t, "per node"), func(p *Proc) {
			for _, c := range calls[p.ID] {
				if c.get {
					p.Get(c.peer, c.size)
				} else {
					p.Put(c.peer, c.size, 0)
				}
			}
			p.CompleteAll()
		})
		rep, err := Predict(g, m, program)
		if err != nil {
			t.Fatal(err)
		}
		checkBreakdown(t, rep)
	})
}
