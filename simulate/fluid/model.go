package fluid

import (
	"errors"
	"fmt"

	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// Config has the parameters of a fabric that are not in its graph.
type Config struct {
	// SendBytesPerSecond and ReceiveBytesPerSecond are the injection and ejection rates
	// of an endpoint's NIC, unless overridden by SetNIC. Host links, if any, limit it
	// too.
	SendBytesPerSecond    float64
	ReceiveBytesPerSecond float64
	// VictimRatio is how much faster than a blocked flow another flow may be that
	// shares a channel with it before the block. 1 is one queue for all (PFC with one
	// lossless priority): all flows in the queue are equally slow. Infinity is a queue
	// per flow: pure max-min fairness, no victims. Virtual channels and adaptive
	// buffers lie in between.
	VictimRatio float64
	// DrainShare is the share of its capacity at which a channel that is down still
	// drains the queues in front of it, by discarding packets.
	DrainShare float64
	// ContentionShare is the share of time that packets wait inside a switch for a
	// fully used output when nothing is blocked; it is proportional to the square of
	// the use.
	ContentionShare float64
}

// DefaultConfig describes Cray Gemini, with two nodes per switch.
func DefaultConfig() Config {
	return Config{SendBytesPerSecond: 10e9, ReceiveBytesPerSecond: 10e9, VictimRatio: 2, DrainShare: .05, ContentionShare: .03}
}

// Validate joins all errors.
func (c Config) Validate() error {
	var errs []error
	if !(c.SendBytesPerSecond > 0 && c.ReceiveBytesPerSecond > 0) {
		errs = append(errs, fmt.Errorf("send_bytes_per_second %v, receive_bytes_per_second %v: want more than 0", c.SendBytesPerSecond, c.ReceiveBytesPerSecond))
	}
	if !(c.VictimRatio >= 1) {
		errs = append(errs, fmt.Errorf("victim_ratio %v: want 1 or more", c.VictimRatio))
	}
	if !(c.DrainShare > 0 && c.DrainShare <= 1) {
		errs = append(errs, fmt.Errorf("drain_share %v: want more than 0, up to 1", c.DrainShare))
	}
	if !(c.ContentionShare >= 0 && c.ContentionShare <= 1) {
		errs = append(errs, fmt.Errorf("contention_share %v: want 0 to 1", c.ContentionShare))
	}
	return errors.Join(errs...)
}

// Resource is something that flows share: a channel, or the sending or receiving side
// of an endpoint. Channels come first and keep their numbers.
type Resource uint32

// NoResource marks the absence of a resource.
const NoResource = Resource(^uint32(0))

// Model is a fabric with capacities. It is not safe for concurrent use.
type Model struct {
	cfg      Config
	channels *routing.Channels
	nominal  []float64 // by Resource, bytes/s
	capacity []float64 // remaining now
	solver   solver
}

// New returns the model of a fabric.
func New(channels *routing.Channels, cfg Config) (*Model, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("fluid: %w", err)
	}
	n, devices := channels.Len(), channels.Graph().NumDevices()
	m := &Model{cfg: cfg, channels: channels, nominal: make([]float64, n+2*devices)}
	for ch := range n {
		c := channels.Graph().Link(channels.Link(routing.Channel(ch))).CapacityBytesPerSecond
		if c <= 0 {
			return nil, fmt.Errorf("fluid: link %q has no rate; give it one with giverny topology import --gbps, or in the topology file", channels.Name(routing.Channel(ch)))
		}
		m.nominal[ch] = c
	}
	for d := range topology.DeviceID(devices) {
		m.nominal[m.Send(d)], m.nominal[m.Receive(d)] = cfg.SendBytesPerSecond, cfg.ReceiveBytesPerSecond
	}
	m.capacity = append([]float64(nil), m.nominal...)
	return m, nil
}

// SetNIC overrides a device's injection and ejection rates, in bytes per second; both
// must be positive.
func (m *Model) SetNIC(d topology.DeviceID, send, receive float64) {
	m.nominal[m.Send(d)], m.nominal[m.Receive(d)] = send, receive
	m.capacity[m.Send(d)], m.capacity[m.Receive(d)] = send, receive
}

// Send is the sending side of an endpoint.
func (m *Model) Send(d topology.DeviceID) Resource { return Resource(m.channels.Len() + 2*int(d)) }

// Receive is the receiving side of an endpoint.
func (m *Model) Receive(d topology.DeviceID) Resource { return m.Send(d) + 1 }

// Endpoint returns the device whose side a resource is; false for a channel.
func (m *Model) Endpoint(r Resource) (topology.DeviceID, bool) {
	if i := int(r) - m.channels.Len(); i >= 0 {
		return topology.DeviceID(i / 2), true
	}
	return 0, false
}

// SetShare reduces a resource to a share of its nominal capacity, at least a millionth;
// for no capacity at all see routing.Channels.SetUp.
func (m *Model) SetShare(r Resource, share float64) {
	m.capacity[r] = m.nominal[r] * max(1e-6, min(1, share))
}

// Capacity is the current capacity of a resource in bytes per second: a channel that is
// down drains at DrainShare.
func (m *Model) Capacity(r Resource) float64 {
	if int(r) < m.channels.Len() && !m.channels.Up(routing.Channel(r)) {
		return m.nominal[r] * m.cfg.DrainShare
	}
	return m.capacity[r]
}

// Flows are flows with the same owner and pattern that rise and fall together. The
// demand of each is Scale times its demand in the pattern.
type Flows struct {
	Owner int     // for the caller
	Scale float64 // 0: nothing is sent now

	demand []float64 // bytes/s at Scale 1
	detour []bool    // the path differs from the native one
	off    []uint32  // len = flows + 1
	path   []Resource
	solved int // index of the first flow in the solver, for the last Solve
}

// Add appends a flow: its demand in bytes/s, its two ends, and the channels between
// them. detour marks a flow that a failure has diverted.
func (f *Flows) Add(m *Model, demand float64, src, dst topology.DeviceID, channels []routing.Channel, detour bool) {
	if len(f.off) == 0 {
		f.off = append(f.off, 0)
	}
	f.demand, f.detour = append(f.demand, demand), append(f.detour, detour)
	f.path = append(f.path, m.Send(src))
	for _, ch := range channels {
		f.path = append(f.path, Resource(ch))
	}
	f.path = append(f.path, m.Receive(dst))
	f.off = append(f.off, uint32(len(f.path)))
}

// Path returns the path of flow i: sending side, channels, receiving side. The slice
// must not be modified.
func (f *Flows) Path(i int) []Resource { return f.path[f.off[i]:f.off[i+1]] }

// Reset removes all flows and keeps their memory.
func (f *Flows) Reset() {
	f.demand, f.detour, f.off, f.path = f.demand[:0], f.detour[:0], f.off[:0], f.path[:0]
}

// State is the steady state of a fabric, by channel.
type State struct {
	LoadBytesPerSecond []float64
	OfferedPerSecond   []float64 // bytes/s that would be sent without blocking
	CreditStall        []float64 // share of time, 0 to 1: waiting for credits of the next switch
	InqStall           []float64 // share of time, 0 to 1: packets waiting inside the switch for this channel
	LostPerSecond      []float64 // bytes/s discarded in front of a channel that is down
	ReceiveStall       []float64 // by device: share of the offered bytes that its receiving side kept waiting
}

// Average makes s the mean of the states so far, of which o is number n, from 0.
func (s *State) Average(o *State, n int) {
	average := func(mean *[]float64, value []float64) {
		if n == 0 {
			*mean = append((*mean)[:0], value...)
			return
		}
		for i, v := range value {
			(*mean)[i] += (v - (*mean)[i]) / float64(n+1)
		}
	}
	average(&s.LoadBytesPerSecond, o.LoadBytesPerSecond)
	average(&s.OfferedPerSecond, o.OfferedPerSecond)
	average(&s.CreditStall, o.CreditStall)
	average(&s.InqStall, o.InqStall)
	average(&s.LostPerSecond, o.LostPerSecond)
	average(&s.ReceiveStall, o.ReceiveStall)
}
