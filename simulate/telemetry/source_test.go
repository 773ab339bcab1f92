package telemetry_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/fluid"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/simulate/telemetry"
	"github.com/giverny/giverny/topology/topologytest"
)

const minute = int64(60e9)

// bench is a source on a fabric whose state tests set channel by channel.
type bench struct {
	channels *routing.Channels
	source   *telemetry.Source
	state    fluid.State
	now      schema.Interval
}

// silent turns all noise off, so that readings equal the state.
func silent(kind telemetry.Kind) telemetry.Config {
	c := telemetry.DefaultConfig(kind)
	c.FloorPercent, c.WavePercent, c.SpreadPercent, c.SpreadShare = 0, 0, 0, 0
	return c
}

type fataler interface {
	Helper()
	Fatal(...any)
}

func newBench(t fataler, spec string, cfg telemetry.Config) *bench {
	t.Helper()
	g := topologytest.Parse(t, "f", spec)
	b := &bench{channels: routing.NewChannels(g), now: schema.Interval{StartNanos: 100 * minute, DurationNanos: minute}}
	var err error
	if b.source, err = telemetry.New(b.channels, cfg, rand.New(rand.NewPCG(1, 2)), b.now.StartNanos); err != nil {
		t.Fatal(err)
	}
	n := b.channels.Len()
	b.state = fluid.State{LoadBytesPerSecond: make([]float64, n), OfferedPerSecond: make([]float64, n), CreditStall: make([]float64, n),
		InqStall: make([]float64, n), LostPerSecond: make([]float64, n), ReceiveStall: make([]float64, g.NumDevices())}
	return b
}

func (b *bench) channel(t fataler, name string) routing.Channel {
	t.Helper()
	ch, err := b.channels.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// reading is a counter of a port at an instant.
type reading struct {
	nanos int64
	value uint64
}

func readings(batches []*schema.CounterBatch) map[string]reading {
	all := map[string]reading{}
	for _, b := range batches {
		for row, port := range b.PortIndex {
			name := b.Ports[port].Device + " " + b.Ports[port].Port + " "
			for _, c := range b.Columns {
				all[name+c.Name] = reading{b.TimeNanos[row], c.Values[row]}
			}
		}
	}
	return all
}

func (b *bench) read() map[string]reading {
	r := readings(b.source.Read(&b.state, b.now))
	b.now = b.now.Next()
	return r
}

// perSecond is how fast a counter rose between two readings.
func perSecond(t fataler, counter string, from, to reading) float64 {
	t.Helper()
	info, ok := schema.LookupCounter(counter[strings.LastIndexByte(counter, ' ')+1:])
	if !ok {
		t.Fatal("unknown counter " + counter)
	}
	return float64((to.value-from.value)&info.MaxValue()) / (float64(to.nanos-from.nanos) / 1e9)
}

func TestCountersTellTheState(t *testing.T) {
	type rates map[string]float64
	for _, test := range []struct {
		name, spec, hot string // the channel out of this port is hot
		kind            telemetry.Kind
		want            rates
	}{
		{"Gemini reports what leaves", "torus:3x3x3", "0,0,0 X-", telemetry.Gemini, rates{
			"0,0,0 X- gemini.credit_stall_ns": .2e9, "0,0,0 X- gemini.inq_stall_ns": .1e9, "0,0,0 X- gemini.traffic_bytes": 1e9,
			"0,0,0 X- gemini.traffic_packets": 1e9 / 56, "2,0,0 X+ gemini.credit_stall_ns": 0, "0,0,0 X+ gemini.traffic_bytes": 0}},
		{"InfiniBand counts words and ticks", "fattree:leaves=2,hosts=2,spines=1", "leaf0 3", telemetry.InfiniBand, rates{
			"leaf0 3 ib.port_xmit_wait": .2e9, "leaf0 3 ib.port_xmit_data": .25e9, "spine0 1 ib.port_rcv_data": .25e9,
			"spine0 1 ib.port_xmit_wait": 0, "leaf0 3 ib.port_xmit_packets": 1e9 / 4096, "leaf0 3 ib.port_rcv_data": 0}},
		{"a paused host is seen by its switch", "fattree:leaves=2,hosts=2,spines=1", "host0 1", telemetry.RoCE, rates{
			"host0 1 mlx5.rx_prio3_pause_duration": .2e6, "leaf0 1 sai.port_stat_pfc_3_tx_pause_duration_us": .2e6,
			"host0 1 mlx5.tx_prio3_pause_duration": 0, "leaf0 1 sai.port_stat_pfc_3_rx_pause_duration_us": 0, "host0 1 mlx5.tx_bytes_phy": 1e9,
			"leaf0 1 sai.port_stat_if_in_octets": 1e9}},
		{"a slow host tells its switch", "fattree:leaves=2,hosts=2,spines=1", "leaf0 1", telemetry.RoCE, rates{
			"host0 1 mlx5.tx_prio3_pause_duration": .2e6, "leaf0 1 sai.port_stat_pfc_3_rx_pause_duration_us": .2e6,
			"host0 1 mlx5.rx_prio3_pause_duration": 0, "host0 1 mlx5.rx_bytes_phy": 1e9}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, test.spec, silent(test.kind))
			hot := b.channel(t, test.hot)
			b.state.LoadBytesPerSecond[hot], b.state.CreditStall[hot], b.state.InqStall[hot] = 1e9, .2, .1
			before := readings(b.source.Baseline(b.now))
			for range 3 {
				after := b.read()
				for counter, want := range test.want {
					from, ok1 := before[counter]
					to, ok2 := after[counter]
					if !ok1 || !ok2 {
						t.Fatalf("no counter %q", counter)
					}
					if got := perSecond(t, counter, from, to); math.Abs(got-want) > 1e-6*want+1 {
						t.Errorf("%s rises by %v per second, want %v", counter, got, want)
					}
				}
				before = after
			}
		})
	}
}

func TestEveryPortHasARow(t *testing.T) {
	for spec, kind := range map[string]telemetry.Kind{"torus:4x3x2": telemetry.Gemini, "mesh:3x3": telemetry.Gemini,
		"fattree:k=4": telemetry.InfiniBand, "dragonfly:groups=3,routers=2,hosts=2": telemetry.RoCE} {
		b := newBench(t, spec, telemetry.DefaultConfig(kind))
		rows := 0
		for _, batch := range b.source.Baseline(b.now) {
			rows += batch.Rows()
			for _, c := range batch.Columns {
				if info, ok := schema.LookupCounter(c.Name); !ok {
					t.Errorf("the schema does not know %s", c.Name)
				} else if len(c.Values) != batch.Rows() {
					t.Errorf("%s has %d values for %d rows", c.Name, len(c.Values), batch.Rows())
				} else {
					for _, v := range c.Values {
						if v > info.MaxValue() {
							t.Fatalf("%s reads %d, more than %d bits", c.Name, v, info.Width)
						}
					}
				}
			}
			for _, p := range batch.Ports {
				if _, ok := b.channels.Graph().FindPort(p.Device, p.Port); !ok {
					t.Errorf("%s: the graph has no port %s of %s", spec, p.Port, p.Device)
				}
			}
		}
		if rows != b.channels.Graph().NumPorts() {
			t.Errorf("%s: %d rows for %d ports", spec, rows, b.channels.Graph().NumPorts())
		}
	}
}

// Counters wrap at their width, and differences survive it.
func TestWraps(t *testing.T) {
	b := newBench(t, "torus:3x3x3", silent(telemetry.Gemini))
	hot := b.channel(t, "1,1,1 Y+")
	b.state.LoadBytesPerSecond[hot] = 1e12 // 2^48 bytes in under five minutes
	const counter = "1,1,1 Y+ gemini.traffic_bytes"
	before, wraps := b.read()[counter], 0
	for range 30 {
		after := b.read()[counter]
		if after.value < before.value {
			wraps++
		}
		if got := perSecond(t, counter, before, after); math.Abs(got-1e12) > 1e6 {
			t.Fatalf("%v bytes per second, want 1e12", got)
		}
		before = after
	}
	if wraps < 5 {
		t.Errorf("%d wraps in half an hour, want 5 or more", wraps)
	}
}

// Rare events are counted once they add up to one.
func TestRareLossesCount(t *testing.T) {
	b := newBench(t, "fattree:k=4", silent(telemetry.InfiniBand))
	b.state.LostPerSecond[b.channel(t, "leaf0-0 3")] = 4096 / 600. // a packet in ten minutes
	const counter = "leaf0-0 3 ib.port_xmit_discards"
	for m := range 100 {
		got, lost := float64(b.read()[counter].value), float64(m+1)/10
		if math.Abs(got-lost) > .5+1e-3 {
			t.Fatalf("after %d minutes %v discards, want %v within a half", m+1, got, lost)
		}
	}
}

// A 16-bit discard counter saturates.
func TestDiscardsStick(t *testing.T) {
	b := newBench(t, "fattree:k=4", silent(telemetry.InfiniBand))
	b.state.LostPerSecond[b.channel(t, "leaf0-0 3")] = 4096 * 1000 // a thousand packets
	const counter = "leaf0-0 3 ib.port_xmit_discards"
	if got := b.read()[counter].value; math.Abs(float64(got)-60000) > 10 {
		t.Errorf("after a minute %d discards, want 60000", got)
	}
	b.read()
	if got := b.read()[counter].value; got != 65535 {
		t.Errorf("after three minutes %d discards, want 65535", got)
	}
}

func TestFlaws(t *testing.T) {
	ports := func(c telemetry.Config, intervals int) (rows, late int, b *bench) {
		b = newBench(t, "torus:6x6x6", c)
		for range intervals {
			for _, batch := range b.source.Read(&b.state, b.now) {
				rows += batch.Rows()
				for _, at := range batch.TimeNanos {
					if at < b.now.EndNanos()-minute/2 {
						late++
					}
				}
			}
			b.now = b.now.Next()
		}
		return rows, late, b
	}
	all := 20 * 216 * 6
	lossy := telemetry.DefaultConfig(telemetry.Gemini)
	lossy.LossShare = .1
	if rows, _, _ := ports(lossy, 20); rows < all*85/100 || rows > all*95/100 {
		t.Errorf("at 10%% loss %d of %d rows arrive", rows, all)
	}
	tardy := telemetry.DefaultConfig(telemetry.Gemini)
	tardy.LateShare = .1
	if rows, late, _ := ports(tardy, 20); late < all*7/100 || late > all*13/100 || rows < all*99/100 {
		t.Errorf("at 10%% lateness %d of %d rows arrive, %d of them late", rows, all, late)
	}
	skewed := telemetry.DefaultConfig(telemetry.Gemini)
	skewed.SkewMicros = 5e6
	_, _, b := ports(skewed, 1)
	spread := 0
	for _, at := range b.source.Read(&b.state, b.now)[0].TimeNanos {
		if d := at - b.now.EndNanos(); d < -1e9 || d > 1e9 {
			spread++
		}
	}
	if spread < 500 {
		t.Errorf("clocks that are 5 s off: %d of 1296 rows are more than 1 s off", spread)
	}
}

func TestDeviceGoesAndComesBack(t *testing.T) {
	b := newBench(t, "torus:3x3x3", silent(telemetry.Gemini))
	d, _ := b.channels.Graph().FindDevice("1,1,1")
	b.read()
	b.source.SetDown(d, true)
	if _, there := b.read()["1,1,1 X+ gemini.traffic_bytes"]; there {
		t.Error("a device that is down reports")
	}
	b.source.SetDown(d, false)
	if r, there := b.read()["1,1,1 X+ gemini.traffic_bytes"]; !there || r.value != 0 {
		t.Errorf("a device that is back reads %d, %v; want a counter that began again at zero", r.value, there)
	}
}

func TestSequenceRises(t *testing.T) {
	b := newBench(t, "fattree:k=4", telemetry.DefaultConfig(telemetry.RoCE))
	last := uint64(0)
	for range 5 {
		for _, batch := range b.source.Read(&b.state, b.now) {
			if batch.Sequence != last+1 {
				t.Errorf("sequence %d after %d", batch.Sequence, last)
			}
			last = batch.Sequence
		}
		b.now = b.now.Next()
	}
}

// A calm Gemini fabric looks like one: a floor of one or two percent, no link that
// would start a region.
func TestNoiseFloor(t *testing.T) {
	b := newBench(t, "torus:8x8x8", telemetry.DefaultConfig(telemetry.Gemini))
	before := b.read()
	for range 10 {
		after := b.read()
		sum, high, n := 0., 0, 0.
		for name, to := range after {
			if strings.HasSuffix(name, "stall_ns") {
				percent := perSecond(t, name, before[name], to) / 1e7
				sum += percent
				n++
				if percent > 5 {
					high++
				}
			}
		}
		if mean := sum / n; mean < .8 || mean > 2 || high > 6 {
			t.Errorf("calm stalls have a mean of %.2f%%, %d of %v over 5%%", mean, high, n)
		}
		before = after
	}
}

func TestSameSeedSameReadings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]telemetry.Kind{telemetry.Gemini, telemetry.InfiniBand, telemetry.RoCE}).Draw(t, "kind")
		cfg := telemetry.DefaultConfig(kind)
		cfg.LossShare, cfg.LateShare = .1, .1
		spec := map[telemetry.Kind]string{telemetry.Gemini: "torus:3x3x2", telemetry.InfiniBand: "fattree:k=4", telemetry.RoCE: "fattree:k=4"}[kind]
		a, b := newBench(t, spec, cfg), newBench(t, spec, cfg)
		for range 4 {
			for ch := range a.state.CreditStall {
				a.state.CreditStall[ch] = rapid.Float64Range(0, 1).Draw(t, "stall")
				b.state.CreditStall[ch] = a.state.CreditStall[ch]
			}
			if x, y := a.read(), b.read(); !reflect.DeepEqual(x, y) {
				t.Fatal("two sources of one seed differ")
			}
		}
	})
}

func TestConfigNamesEveryFault(t *testing.T) {
	c := telemetry.Config{Kind: "abacus", Priority: 8, LossShare: 2, FloorPercent: math.NaN()}
	err := c.Validate()
	for _, want := range []string{"abacus", "priority 8", "packet_bytes", "tick_picoseconds", "loss_share", "floor_percent", "wave_intervals"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the faults should name %s: %v", want, err)
		}
	}
}

func TestDayFile(t *testing.T) {
	b := newBench(t, "torus:3x4x5", silent(telemetry.Gemini))
	hot := b.channel(t, "2,1,3 Z-")
	b.state.LoadBytesPerSecond[hot], b.state.CreditStall[hot], b.state.InqStall[hot] = 1.5e9, .25, .125
	i := b.now
	b.read()
	text, err := b.source.AppendDay(nil, i)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 2*60 {
		t.Fatalf("%d rows, want two for each of 60 switches", len(lines))
	}
	zeros := strings.Repeat(",0", 5)
	want := "6060,25000000" + zeros + ",12500000" + zeros + ",10000000" + zeros + ",3,1,2"
	found := false
	for _, l := range lines {
		if fields := strings.Split(l, ","); len(fields) != 22 {
			t.Fatalf("%d columns, want 22: %s", len(fields), l)
		}
		found = found || l == want
	}
	if !found {
		t.Errorf("no row %s", want)
	}
	if _, err := newBench(t, "fattree:k=4", silent(telemetry.InfiniBand)).source.AppendDay(nil, i); err == nil {
		t.Error("a fat tree has no day file")
	}
}

func TestNoAllocationOnceWarm(t *testing.T) {
	b := newBench(t, "torus:6x6x6", telemetry.DefaultConfig(telemetry.Gemini))
	b.source.Read(&b.state, b.now)
	if n := testing.AllocsPerRun(5, func() { b.source.Read(&b.state, b.now) }); n > 0 {
		t.Errorf("%v allocations per Read", n)
	}
}

func BenchmarkRead(b *testing.B) {
	bench := newBench(b, "torus:24x24x24", telemetry.DefaultConfig(telemetry.Gemini))
	for b.Loop() {
		bench.source.Read(&bench.state, bench.now)
		bench.now = bench.now.Next()
	}
	b.ReportMetric(float64(b.N)*82944/b.Elapsed().Seconds(), "rows/s")
}
