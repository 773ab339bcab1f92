package pattern

import (
	"testing"

	"github.com/giverny/giverny/internal/test/cputime"
)

// BenchmarkPredict is a prediction with its full report.
func BenchmarkPredict(b *testing.B) {
	for _, c := range []struct{ name, topology, pattern string }{
		{"permutation/hosts=128", "fattree:leaves=16,hosts=8,spines=8", "random-ring:bytes=4MiB"},
		{"all-to-all/hosts=128", "fattree:leaves=16,hosts=8,spines=8", "all-to-all:bytes=64KiB"},
		{"permutation/hosts=1024", "fattree:k=16", "random-ring:bytes=1MiB"},
	} {
		b.Run(c.name, func(b *testing.B) {
			g, m := parse(b, c.topology), nsimACE(b)
			p, err := Builtin(c.pattern, len(g.Hosts()))
			if err != nil {
				b.Fatal(err)
			}
			packets := uint64(0)
			began := cputime.Used(b)
			for b.Loop() {
				rep, err := Predict(g, m, p)
				if err != nil {
					b.Fatal(err)
				}
				packets += rep.LinkPackets
			}
			b.ReportMetric(float64(packets)/(cputime.Used(b)-began).Seconds()/1e6, "Mlinkpackets/cpu-s")
		})
	}
}

// BenchmarkCall is the cost of a program's call without its packets.
func BenchmarkCall(b *testing.B) {
	for name, p := range map[string]*Program{
		"machine": {Processes: []Process{{Start: machine(func(int) (Call, bool) { return Call{Op: Compute, Bytes: 1}, true }).start}}},
		"coroutine": New("loop", 1, 1, func(p *Proc) {
			for {
				p.Compute(1)
			}
		}),
	} {
		b.Run(name, func(b *testing.B) {
			next, stop := p.Processes[0].Start()
			if stop != nil {
				defer stop()
			}
			for b.Loop() {
				next(0)
			}
		})
	}
}
