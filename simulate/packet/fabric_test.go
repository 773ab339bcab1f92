package packet

import (
	"math"
	"strconv"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// finish runs to the end and returns the time of the last completion, in ns.
func finish(t testing.TB, s *Sim) float64 {
	t.Helper()
	drain(s)
	if s.Underway() > 0 {
		t.Fatalf("%d transfers did not end", s.Underway())
	}
	last := Time(0)
	for i := range s.transfers.all {
		last = max(last, s.transfers.all[i].Completed)
	}
	return last.Nanoseconds()
}

func find(t testing.TB, s *Sim, port string) routing.Channel {
	t.Helper()
	ch, err := s.Channels().Find(port)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func near(t testing.TB, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within {
		t.Errorf("%s is %.4f, want %.4f", what, got, want)
	}
}

// TestOpenParameters checks the closed forms for what the paper leaves open, for a put
// of one packet of N = 4096 bytes over S = 3 switches.
func TestOpenParameters(t *testing.T) {
	const n, d, b, latency = 4096.0, 2.8, 4.0, 140*3 + 0.6*4
	for _, c := range []struct {
		name   string
		change func(*Config)
		arrive float64
	}{
		{"as it is", func(*Config) {}, 2*n/d + n/b + latency},
		{"store and forward", func(c *Config) { c.StoreAndForward = true }, 2*n/d + 4*n/b + latency},
		{"stages included", func(c *Config) { c.StagesIncluded = true }, 2*n/d + n/b + latency - 36},
		{"header", func(c *Config) { c.HeaderBytes = 40 }, 2*n/d + (n+40)/b + latency},
		{"packets of 1024", func(c *Config) { c.PacketBytes = 1024 }, n/d + 1024/b + 1024/d + latency},
		{"two DMA channels", func(c *Config) { c.DMAChannels, c.PacketBytes = 2, 2048 }, 2*2048/d + 2*2048/b + latency},
		{"DMA in chunks", func(c *Config) { c.DMAChunkBytes = 256 }, 2*n/d - (n-2*256)/b + latency},
		{"DMA setup", func(c *Config) { c.DMASetupNanos = 700 }, 700 + 2*n/d + n/b + latency},
		{"inline", func(c *Config) { c.InlineBytes, c.InlineLineNanos = 4096, 10 }, 64*10 + n/b + n/d + latency},
		{"overhead", func(c *Config) { c.OverheadNanos = 50 }, 50 + 2*n/d + n/b + latency},
		{"slow links", func(c *Config) { c.LinkSpeed = 1 }, 2*n/d + n + latency},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := DefaultConfig()
			c.change(&cfg)
			s := newSim(t, "fattree:leaves=4,hosts=4,spines=4", cfg)
			id := post(t, s, Request{From: 0, To: 5, Bytes: n})
			finish(t, s)
			near(t, "arrival", s.Times(id).Arrived.Nanoseconds(), c.arrive, 0.001)
		})
	}
}

// TestSharedDMA: two nodes that put to each other need twice the DMA time if both
// directions share the engine.
func TestSharedDMA(t *testing.T) {
	cfg := DefaultConfig()
	cfg.SharedDMA = true
	s := newSim(t, "fattree:leaves=1,hosts=2,spines=1", cfg)
	post(t, s, Request{From: 0, To: 1, Bytes: mib})
	post(t, s, Request{From: 1, To: 0, Bytes: mib})
	near(t, "end", finish(t, s), 2*mib/2.8, 5000)
}

// TestTorusNeighbour: on a torus the NIC injects directly into the first link, and only
// switches in between add their latency.
func TestTorusNeighbour(t *testing.T) {
	for hops, to := range map[float64]topology.DeviceID{1: 1, 2: 2} {
		s := newSim(t, "torus:5x5", DefaultConfig())
		id := post(t, s, Request{From: 0, To: to, Bytes: 4})
		finish(t, s)
		near(t, "arrival", s.Times(id).Arrived.Nanoseconds(), 2*4/2.8+4/4.0+hops*0.6+(hops-1)*140, 0.001)
	}
}

// TestCongestionSpreads: seven nodes put to one. With credits the uplinks stall for
// lack of credits and the inputs behind the hot link fill; with PFC the same links are
// paused, for equal times at both ends; without either nothing stalls.
func TestCongestionSpreads(t *testing.T) {
	for _, flow := range []FlowControl{Unlimited, Credits, PFC} {
		t.Run(string(flow), func(t *testing.T) {
			cfg := DefaultConfig()
			cfg.FlowControl = flow
			s := newSim(t, "fattree:leaves=4,hosts=2,spines=1", cfg)
			incast(t, s, mib)
			finish(t, s)
			var sum Counters
			for ch := range s.fabric.channels {
				c := s.Counters(routing.Channel(ch))
				sum.CreditStallNanos += c.CreditStallNanos
				sum.PauseStallNanos += c.PauseStallNanos
				sum.XmitWaitTicks += c.XmitWaitTicks
				sum.InputStallNanos += c.InputStallNanos
				sum.PauseRxNanos[0] += c.PauseRxNanos[0]
				sum.PauseTxNanos[0] += c.PauseTxNanos[0]
			}
			if (sum.CreditStallNanos > 0) != (flow == Credits) || (sum.PauseStallNanos > 0) != (flow == PFC) {
				t.Errorf("credit stall %.0f, pause stall %.0f ns", sum.CreditStallNanos, sum.PauseStallNanos)
			}
			near(t, "xmit wait", float64(sum.XmitWaitTicks), sum.CreditStallNanos+sum.PauseStallNanos, float64(len(s.fabric.channels)))
			near(t, "pause asked for", sum.PauseTxNanos[0], sum.PauseRxNanos[0], 0.01)
			if sum.InputStallNanos == 0 {
				t.Error("no packet ever stood in an input")
			}
			up, hot := s.Counters(find(t, s, "leaf1 3")), s.Counters(find(t, s, "leaf0 1"))
			if stalled := up.CreditStallNanos + up.PauseStallNanos; flow != Unlimited && stalled < 0.3*s.clock.now.Nanoseconds() {
				t.Errorf("the uplink of a far leaf stalled %.0f of %.0f ns", stalled, s.clock.now.Nanoseconds())
			}
			if want := uint64(7*mib + 0); hot.Bytes != want {
				t.Errorf("%d bytes into the hot node, want %d", hot.Bytes, want)
			}
		})
	}
}

// TestSmallHeadroom: PFC with insufficient headroom drops packets, counts them, and the
// transfers still complete.
func TestSmallHeadroom(t *testing.T) {
	cfg := DefaultConfig()
	cfg.FlowControl = PFC
	cfg.BufferBytes, cfg.XoffBytes, cfg.XonBytes, cfg.PauseNanos = 20<<10, 16<<10, 8<<10, 5000
	cfg.Retries = 100
	s := newSim(t, "fattree:leaves=1,hosts=8,spines=1", cfg)
	incast(t, s, 1<<18)
	finish(t, s)
	full := uint64(0)
	for ch := range s.fabric.channels {
		full += s.fabric.channels[ch].counters.drops[BufferFull]
	}
	if full == 0 || full != s.fabric.lost {
		t.Errorf("%d packets lost, %d for want of room", s.fabric.lost, full)
	}
}

// TestClassesShareNoPause: a paused class does not stop another.
func TestClassesShareNoPause(t *testing.T) {
	cfg := DefaultConfig()
	cfg.FlowControl, cfg.Classes = PFC, 2
	s := newSim(t, "fattree:leaves=2,hosts=8,spines=1", cfg)
	for h := topology.DeviceID(8); h < 15; h++ {
		post(t, s, Request{From: h, To: 0, Bytes: mib})
	}
	other := post(t, s, Request{From: 15, To: 1, Bytes: 4096, Class: 1})
	finish(t, s)
	c := s.Counters(find(t, s, "leaf1 9"))
	if c.PauseRxNanos[0] == 0 || c.PauseRxNanos[1] != 0 {
		t.Errorf("paused %v ns by class, want only class 0", c.PauseRxNanos[:2])
	}
	if us := s.Times(other).Arrived.Nanoseconds() / 1000; us > 50 {
		t.Errorf("the other class took %.0f us", us)
	}
}

// TestRateControl: DCQCN slows the senders of an incast down until pauses are rare, and
// gives all of them similar rates.
func TestRateControl(t *testing.T) {
	paused := func(ecn bool) (float64, *Sim) {
		cfg := DefaultConfig()
		cfg.FlowControl, cfg.LinkSpeed, cfg.DMASpeed, cfg.DMAChannels = PFC, 12.5, 20, 2
		cfg.BufferBytes, cfg.XoffBytes, cfg.XonBytes = 512<<10, 300<<10, 250<<10
		cfg.Rate.Enabled = ecn
		s := newSim(t, "fattree:leaves=1,hosts=9,spines=1", cfg)
		incast(t, s, 16*mib)
		finish(t, s)
		sum := 0.0
		for ch := range s.fabric.channels {
			sum += s.Counters(routing.Channel(ch)).PauseRxNanos[0]
		}
		return sum, s
	}
	without, _ := paused(false)
	with, s := paused(true)
	if with > without/5 {
		t.Errorf("paused %.0f us with rate control, %.0f us without", with/1000, without/1000)
	}
	hot := s.Counters(find(t, s, "leaf0 1"))
	t.Logf("paused %.0f us with, %.0f us without; the hot link was busy %.0f%% of the time, %d packets marked",
		with/1000, without/1000, 100*hot.BusyNanos/s.clock.now.Nanoseconds(), hot.Marks)
	if hot.Marks == 0 || hot.BusyNanos < 0.5*s.clock.now.Nanoseconds() {
		t.Errorf("%d marks, busy %.0f of %.0f ns", hot.Marks, hot.BusyNanos, s.clock.now.Nanoseconds())
	}
}

// TestDeadlock: a ring on which all put two steps further deadlocks with one virtual
// channel and small buffers, but not with the default of two.
func TestDeadlock(t *testing.T) {
	for vcs, stuck := range map[int]bool{1: true, 0: false} {
		cfg := DefaultConfig()
		cfg.FlowControl, cfg.BufferBytes, cfg.VirtualChannels, cfg.DMASpeed = Credits, 4096, vcs, 20
		s := newSim(t, "torus:5", cfg)
		for h := range topology.DeviceID(5) {
			post(t, s, Request{From: h, To: (h + 2) % 5, Bytes: mib})
		}
		drain(s)
		if (s.Underway() > 0) != stuck {
			t.Errorf("virtual_channels=%d: %d transfers do not end", vcs, s.Underway())
		}
	}
}

// TestLinkFails: a link that breaks during a put costs a detour, one that slows down
// costs its share of the speed, and a node that is cut off fails its transfers.
func TestLinkFails(t *testing.T) {
	const whole = 377831.0857
	run := func(t *testing.T, cfg Config, faults ...Fault) *Sim {
		s := newSim(t, "fattree:leaves=2,hosts=2,spines=2", cfg)
		for _, f := range faults {
			if err := s.Inject(f); err != nil {
				t.Fatal(err)
			}
		}
		post(t, s, Request{From: 0, To: 2, Bytes: mib})
		drain(s)
		return s
	}
	s := run(t, DefaultConfig())
	up := schema.NoLink
	for ch := range s.fabric.channels {
		from, to := s.paths.routes.Ends(routing.Channel(ch))
		if s.fabric.channels[ch].counters.packets > 100 && s.paths.graph.IsSwitch(from) && s.paths.graph.IsSwitch(to) && up == schema.NoLink {
			up = s.paths.routes.Link(routing.Channel(ch))
		}
	}
	_, spine := s.paths.graph.Ends(up)
	if s.paths.graph.Device(spine).Level != 2 {
		spine, _ = s.paths.graph.Ends(up)
	}

	t.Run("reroute at once", func(t *testing.T) {
		s := run(t, DefaultConfig(), Fault{At: 100 * Microsecond, Link: up})
		near(t, "end", s.Times(0).Completed.Nanoseconds(), whole, 60000)
		if s.fabric.lost == 0 || s.Times(0).Completed == Never {
			t.Errorf("%d packets lost, completed %v", s.fabric.lost, s.Times(0).Completed)
		}
	})
	t.Run("reroute late", func(t *testing.T) {
		cfg := DefaultConfig()
		cfg.RerouteMicros = 120
		s := run(t, cfg, Fault{At: 100 * Microsecond, Link: up})
		if s.fabric.lost < 40 || s.Times(0).Completed == Never {
			t.Errorf("%d packets lost, want those of 120 us", s.fabric.lost)
		}
	})
	t.Run("switch fails", func(t *testing.T) {
		s := run(t, DefaultConfig(), Fault{At: 100 * Microsecond, Link: schema.NoLink, Device: spine})
		if s.fabric.lost == 0 || s.Times(0).Completed == Never {
			t.Errorf("%d packets lost, completed %v", s.fabric.lost, s.Times(0).Completed)
		}
	})
	t.Run("slow", func(t *testing.T) {
		s := run(t, DefaultConfig(), Fault{At: 0, Link: up, Share: 0.1})
		near(t, "end", s.Times(0).Completed.Nanoseconds(), mib/0.4, 6000)
	})
	t.Run("cut off", func(t *testing.T) {
		s := run(t, DefaultConfig(), Fault{At: 100 * Microsecond, Link: schema.NoLink, Device: 2})
		if s.Underway() != 0 || s.transfers.all[0].state != failed || s.Times(0).Completed != Never || s.fabric.unrouted == 0 {
			t.Errorf("state %d, completed %v, %d without a path", s.transfers.all[0].state, s.Times(0).Completed, s.fabric.unrouted)
		}
	})
	t.Run("down and up", func(t *testing.T) {
		s := run(t, DefaultConfig(), Fault{At: 100 * Microsecond, Link: schema.NoLink, Device: 2}, Fault{At: 200 * Microsecond, Link: schema.NoLink, Device: 2, Share: 1})
		near(t, "end", s.Times(0).Completed.Nanoseconds(), whole+100000, 60000)
	})
}

// TestFaultsChecked: invalid faults are rejected with a reason.
func TestFaultsChecked(t *testing.T) {
	s := newSim(t, "torus:3", DefaultConfig())
	s.Next(Microsecond)
	for _, f := range []Fault{{At: 0, Link: 0}, {At: Second, Link: 99}, {At: Second, Link: schema.NoLink, Device: 99}, {At: Second, Link: 0, Share: 2}} {
		if s.Inject(f) == nil {
			t.Errorf("%+v is taken", f)
		}
	}
	for _, r := range []Request{{From: 9, To: 1}, {From: 0, To: 1, Bytes: -1}, {From: 0, To: 1, Class: 1}} {
		if _, err := s.Post(r); err == nil {
			t.Errorf("%+v is taken", r)
		}
	}
}

// TestValiantSpreads: from one group of a dragonfly to the next, minimal routes share
// one global cable, Valiant's do not.
func TestValiantSpreads(t *testing.T) {
	end := map[routing.Policy]float64{}
	for _, policy := range []routing.Policy{routing.Minimal, routing.Valiant} {
		cfg := DefaultConfig()
		cfg.FlowControl, cfg.Routing, cfg.DMASpeed, cfg.ActivePuts = Credits, policy, 8, 8
		s := newSim(t, "dragonfly:groups=9,routers=4,hosts=2", cfg)
		for h := range topology.DeviceID(8) {
			for range 8 {
				post(t, s, Request{From: h, To: 8 + h, Bytes: 1 << 18})
			}
		}
		end[policy] = finish(t, s)
	}
	if end[routing.Valiant] > 0.6*end[routing.Minimal] {
		t.Errorf("minimal takes %.0f ns, valiant %.0f", end[routing.Minimal], end[routing.Valiant])
	}
}

// TestNoAllocations: after warm-up, packets move without allocating.
func TestNoAllocations(t *testing.T) {
	for _, flow := range []FlowControl{Credits, PFC} {
		cfg := DefaultConfig()
		cfg.FlowControl, cfg.NICBufferBytes = flow, 64<<10
		s := newSim(t, "fattree:leaves=4,hosts=4,spines=4", cfg)
		permute(t, s, 1<<30)
		s.Next(100 * Millisecond)
		n := testing.AllocsPerRun(20, func() { s.Next(s.Now() + 100*Microsecond) })
		if n > 0 {
			t.Errorf("%s: %v allocations in 100 us", flow, n)
		}
	}
}

// TestParameters: each can be read and set by its unique name.
func TestParameters(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Parameters() {
		cfg := DefaultConfig()
		was := valueOf(&p, &cfg)
		if seen[p.Name] || p.Help == "" {
			t.Errorf("%s is duplicated, or has no help", p.Name)
		}
		seen[p.Name] = true
		if err := p.Set(&cfg, was); err != nil || cfg != DefaultConfig() {
			t.Errorf("%s=%q: %v, or changes the default", p.Name, was, err)
		}
		if p.text == nil && p.Set(&cfg, "many") == nil {
			t.Errorf("%s=many is taken", p.Name)
		}
	}
	for _, bad := range []func(*Config){
		func(c *Config) { c.DMASpeed = 0 }, func(c *Config) { c.PacketBytes = 0 }, func(c *Config) { c.CableNanos = -1 },
		func(c *Config) { c.FlowControl = "hope" }, func(c *Config) { c.FlowControl, c.BufferBytes = Credits, 100 },
		func(c *Config) { c.FlowControl, c.BufferBytes = PFC, 100 }, func(c *Config) { c.Classes = 9 }, func(c *Config) { c.Rate.Pmax = 2 },
		func(c *Config) { c.NICBufferBytes = 7 }, func(c *Config) { c.Routing = "guess" },
	} {
		cfg := DefaultConfig()
		bad(&cfg)
		g := topologytest.Parse(t, "f", "torus:3")
		if _, err := New(g, cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
}

// valueOf formats a parameter's value for Set.
func valueOf(p *Parameter, c *Config) string {
	switch {
	case p.float != nil:
		return strconv.FormatFloat(*p.float(c), 'g', -1, 64)
	case p.int64 != nil:
		return strconv.FormatInt(*p.int64(c), 10)
	case p.int != nil:
		return strconv.Itoa(*p.int(c))
	case p.flag != nil:
		return strconv.FormatBool(*p.flag(c))
	}
	return *p.text(c)
}

// A request is checked in constant time, however many devices the fabric has.
func TestCheckAllocatesNothing(t *testing.T) {
	s := newSim(t, "fattree:leaves=4,hosts=4,spines=4", DefaultConfig())
	hosts := s.paths.graph.Hosts()
	if n := testing.AllocsPerRun(20, func() {
		if err := s.check(Request{From: hosts[0], To: hosts[1]}); err != nil {
			t.Error(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
