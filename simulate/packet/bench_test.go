package packet

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/giverny/giverny/internal/test/cputime"
	"github.com/giverny/giverny/topology/topologytest"
)

// permute posts a put from every node to a distinct other node.
func permute(t testing.TB, s *Sim, bytes int64) {
	hosts := s.paths.graph.Hosts()
	order := rand.New(rand.NewPCG(7, 0)).Perm(len(hosts))
	for i := range order { // a cycle has no fixed point
		post(t, s, Request{Verb: Put, From: hosts[order[i]], To: hosts[order[(i+1)%len(order)]], Bytes: bytes})
	}
}

func incast(t testing.TB, s *Sim, bytes int64) {
	hosts := s.paths.graph.Hosts()
	for _, h := range hosts[1:] {
		post(t, s, Request{Verb: Put, From: h, To: hosts[0], Bytes: bytes})
	}
}

func benchmark(b *testing.B, spec string, cfg Config, load func(testing.TB, *Sim, int64), bytes int64) {
	g := topologytest.Parse(b, "f", spec)
	var packets, events uint64
	started := cputime.Used(b)
	for b.Loop() {
		s, err := New(g, cfg)
		if err != nil {
			b.Fatal(err)
		}
		load(b, s, bytes)
		drain(s)
		if s.Underway() > 0 {
			b.Fatal("a transfer did not end")
		}
		packets += s.LinkPackets()
		events += s.events
	}
	b.ReportMetric(float64(packets)/(cputime.Used(b)-started).Seconds()/1e6, "Mlinkpackets/cpu-s")
	b.ReportMetric(float64(events)/float64(packets), "events/linkpacket")
}

func BenchmarkPermutation(b *testing.B) {
	for _, c := range []struct {
		hosts int
		spec  string
	}{
		{128, "fattree:leaves=16,hosts=8,spines=8"},
		{1024, "fattree:k=16"},
	} {
		for _, flow := range []FlowControl{Unlimited, Credits, PFC} {
			b.Run(fmt.Sprintf("hosts=%d/%s", c.hosts, flow), func(b *testing.B) {
				cfg := DefaultConfig()
				cfg.FlowControl = flow
				benchmark(b, c.spec, cfg, permute, 4<<20)
			})
		}
	}
}

func BenchmarkIncast(b *testing.B) {
	cfg := DefaultConfig()
	cfg.FlowControl = Credits
	benchmark(b, "fattree:leaves=16,hosts=8,spines=8", cfg, incast, 1<<20)
}
