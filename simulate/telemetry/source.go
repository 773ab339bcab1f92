package telemetry

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/fluid"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// Source holds all counters of a fabric. It is not safe for concurrent use.
type Source struct {
	cfg      Config
	channels *routing.Channels
	rng      *rand.Rand
	noise    noise
	sets     []*set
	devices  []meter
	rates    [quantities][]float64 // per second, by channel; hostStall by device
	sequence uint64
	out      []*schema.CounterBatch
	held     []*schema.CounterBatch // late batches, for the next Read
	day      dayTable
}

// meter is the reading state of a device.
type meter struct {
	skewNanos int64 // error of its clock
	readNanos int64 // true time of the last reading
	lastNanos int64 // of the one before
	down      bool
	delivery  delivery
}

type delivery uint8

const (
	arrives delivery = iota
	isLate
	isLost
)

// set is a set of counters shared by some devices.
type set struct {
	columns []column
	names   []schema.PortName
	rows    []row
	values  [][]uint64  // by column and row
	rest    [][]float32 // what the values lack of the true sum, -0.5 to 0.5, by column and row
	batch   schema.CounterBatch
}

type row struct {
	device          topology.DeviceID
	egress, ingress routing.Channel
}

// New returns the counters of a fabric at startNanos, with values accumulated before.
func New(channels *routing.Channels, cfg Config, rng *rand.Rand, startNanos int64) (*Source, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	s := &Source{cfg: cfg, channels: channels, rng: rng, devices: make([]meter, channels.Graph().NumDevices())}
	s.noise = newNoise(channels, cfg, rng)
	for i := range s.devices {
		s.devices[i].skewNanos = int64(rng.NormFloat64() * cfg.SkewMicros * 1e3)
		s.devices[i].readNanos = startNanos
	}
	for q := range s.rates {
		s.rates[q] = make([]float64, channels.Len())
	}
	s.rates[hostStall] = make([]float64, len(s.devices))
	s.addSets()
	for _, t := range s.sets {
		for c := range t.columns {
			for i := range t.rows {
				t.values[c][i] = t.columns[c].age(rng)
			}
		}
	}
	return s, nil
}

// addSets adds a row per port, in the order of devices and ports.
func (s *Source) addSets() {
	var hosts, switches *set
	add := func(columns []column) *set {
		t := &set{columns: columns, values: make([][]uint64, len(columns)), rest: make([][]float32, len(columns))}
		s.sets = append(s.sets, t)
		return t
	}
	switch s.cfg.Kind {
	case Gemini:
		switches = add(geminiColumns())
		hosts = switches
	case InfiniBand:
		switches = add(infinibandColumns())
		hosts = switches
	case RoCE:
		hosts = add(mlx5Columns(s.cfg.Priority))
		switches = add(saiColumns(s.cfg.Priority))
	}
	g := s.channels.Graph()
	for d := range topology.DeviceID(g.NumDevices()) {
		t := switches
		if !g.IsSwitch(d) {
			t = hosts
		}
		for _, port := range portsOf(g, d) {
			egress, ingress := s.channels.Ports(d, port)
			t.names = append(t.names, schema.PortName{Device: g.Device(d).Name, Port: port})
			t.rows = append(t.rows, row{d, egress, ingress})
		}
	}
	for _, t := range s.sets {
		for c := range t.columns {
			t.values[c], t.rest[c] = make([]uint64, len(t.rows)), make([]float32, len(t.rows))
		}
	}
}

// portsOf lists the ports of a device, in the order of its links.
func portsOf(g *topology.Graph, d topology.DeviceID) (ports []string) {
	add := func(at topology.DeviceID, port string) {
		if at == d && !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	for _, id := range g.LinksAt(d) {
		l := g.Link(id)
		add(l.From, l.FromPort)
		add(l.To, l.ToPort)
	}
	return ports
}

// SetDown removes a device, or restores it with counters at zero.
func (s *Source) SetDown(d topology.DeviceID, down bool) {
	restored := s.devices[d].down && !down
	s.devices[d].down = down
	if !restored {
		return
	}
	for _, t := range s.sets {
		for i, r := range t.rows {
			if r.device != d {
				continue
			}
			for c := range t.values {
				t.values[c][i], t.rest[c][i] = 0, 0
			}
		}
	}
}

// Baseline reads every counter at the start. The batches are valid until the next call.
func (s *Source) Baseline(i schema.Interval) []*schema.CounterBatch {
	return s.emit(schema.Interval{StartNanos: i.StartNanos - i.DurationNanos, DurationNanos: i.DurationNanos})
}

// Read applies a state for the interval and reads every counter shortly after its end.
// It returns a batch per set of counters, and late ones of the interval before, valid
// until the next call.
func (s *Source) Read(state *fluid.State, i schema.Interval) []*schema.CounterBatch {
	s.rate(state)
	for d := range s.devices {
		m := &s.devices[d]
		m.lastNanos = m.readNanos
		m.readNanos = i.EndNanos() + int64(s.rng.Float64()*s.cfg.JitterMicros*1e3)
	}
	for _, t := range s.sets {
		s.advance(t)
	}
	return s.emit(i)
}

// rate computes every channel's quantities per second.
func (s *Source) rate(state *fluid.State) {
	r := &s.rates
	s.noise.step()
	for ch, load := range state.LoadBytesPerSecond {
		credit := s.noise.apply(state.CreditStall[ch], ch, 0)
		inq := s.noise.apply(state.InqStall[ch], ch, 1)
		if sum := credit + inq; sum > 1 {
			credit, inq = credit/sum, inq/sum
		}
		r[creditNanos][ch], r[inqNanos][ch] = credit*1e9, inq*1e9
		r[waitTicks][ch] = credit * 1e12 / float64(s.cfg.TickPicoseconds)
		r[pauseMicros][ch] = credit * 1e6
		r[pauseFrames][ch] = credit * 1e6 / pauseFrameMicros
		r[trafficBytes][ch], r[trafficWords][ch] = load, load/4
		r[packets][ch] = load / s.cfg.PacketBytes
		r[lostPackets][ch] = state.LostPerSecond[ch] / s.cfg.PacketBytes
	}
	for d, stall := range state.ReceiveStall {
		r[hostStall][d] = 100 * stall
	}
}

// pauseFrameMicros is the mean pause per frame: a sender is paused and resumed many
// times while a receiver is at its threshold.
const pauseFrameMicros = 40

// advance increases every counter by what passed between the device's last two readings.
func (s *Source) advance(t *set) {
	for c := range t.columns {
		col := &t.columns[c]
		values, rest, rates := t.values[c], t.rest[c], s.rates[col.of]
		for i, r := range t.rows {
			switch col.of {
			case tick:
				values[i] = s.cfg.TickPicoseconds
				continue
			case hostStall:
				values[i] = uint64(math.Round(rates[r.device]))
				continue
			}
			ch := r.egress
			if col.side == schema.Ingress {
				ch = r.ingress
			}
			if ch == routing.NoChannel {
				continue
			}
			m := &s.devices[r.device]
			by := rates[ch]*float64(m.readNanos-m.lastNanos)*1e-9 + float64(rest[i])
			whole := math.Floor(by + .5)
			values[i], rest[i] = col.raise(values[i], uint64(whole)), float32(by-whole)
		}
	}
}

// emit returns batches of the current counters.
func (s *Source) emit(i schema.Interval) []*schema.CounterBatch {
	s.out = append(s.out[:0], s.held...)
	s.held = s.held[:0]
	for d := range s.devices {
		m := &s.devices[d]
		m.delivery = arrives
		if draw := s.rng.Float64(); m.down || draw < s.cfg.LossShare {
			m.delivery = isLost
		} else if draw < s.cfg.LossShare+s.cfg.LateShare {
			m.delivery = isLate
		}
	}
	for _, t := range s.sets {
		if s.fill(&t.batch, t, i, arrives) {
			s.out = append(s.out, &t.batch)
		}
		if s.cfg.LateShare > 0 {
			if late := new(schema.CounterBatch); s.fill(late, t, i, isLate) {
				s.held = append(s.held, late)
			}
		}
	}
	for _, b := range s.out {
		s.sequence++
		b.Sequence = s.sequence
	}
	return s.out
}

// fill adds the readings with the given delivery to b, and reports whether there are any.
func (s *Source) fill(b *schema.CounterBatch, t *set, i schema.Interval, want delivery) bool {
	columns := b.Columns[:0]
	b.Reset()
	b.Fabric, b.Source, b.Agent, b.IntervalNanos = s.channels.Graph().Fabric(), "simulate", s.cfg.Agent, i.DurationNanos
	b.Ports = append(b.Ports, t.names...)
	for r := range t.rows {
		if m := &s.devices[t.rows[r].device]; m.delivery == want {
			b.TimeNanos = append(b.TimeNanos, m.readNanos+m.skewNanos)
			b.PortIndex = append(b.PortIndex, uint32(r))
		}
	}
	for c := range t.columns {
		var values []uint64
		if c < cap(columns) {
			values = columns[:c+1][c].Values[:0]
		}
		for _, r := range b.PortIndex {
			values = append(values, t.values[c][r])
		}
		columns = append(columns[:c], schema.CounterColumn{Name: t.columns[c].name, Values: values})
	}
	b.Columns = columns
	return len(b.PortIndex) > 0
}
