package replay

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/credits"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// faultKind is what is wrong with a part.
type faultKind uint8

const (
	linkDown faultKind = iota
	switchDown
	degraded // a cable at a share of its rate; no log says so
	slowHost // a host that accepts a share of what arrives; no log says so
)

// fault is a part that is broken or slow for a time.
type fault struct {
	kind     faultKind
	channels []routing.Channel
	device   topology.DeviceID
	port     string
	share    float64
	from, to int // halves
	period   int // halves, if it comes and goes
	down     int // halves of a period
	group    int // faults of a group are one cause
}

func (f *fault) active(at int) bool {
	return at >= f.from && at < f.to && (f.period == 0 || (at-f.from)%f.period < f.down)
}

// scene is what happens on a fabric, half-minute by half-minute.
type scene struct {
	graph         *topology.Graph
	policy        routing.Policy
	seed          uint64
	send, receive float64 // of a host's port, cells per step
	ports         ports
	jobs          []job
	faults        []fault
	length        int // halves
	states        map[string]*state
}

// state is the loads and faults of a half, and what replays of it show.
type state struct {
	levels []uint8 // by traffic, all jobs in a row
	faults []bool
	flows  [][]credits.Flow // by traffic
	all    *outcome
	spared map[int]*outcome // by cause that is left out
}

// outcome is what a simulation of a state shows.
type outcome struct {
	stall     []float64 // by link: percent of the steps, of duplex links the worse direction
	used      []float64 // by link: share of its capacity, the busier direction
	sent      []float64 // by link: cells per step, the busier direction
	delivered []float64 // by traffic, all jobs in a row: cells per step
	rate      []float64 // by traffic: the same by how long its rounds and requests last
	waits     []credits.Wait
}

// Steps of a simulation.
const (
	warmSteps   = 150
	halfSteps   = 250 // of a half-minute
	replaySteps = 700
)

// at returns the state of a half.
func (s *scene) at(half int) *state {
	var levels []uint8
	key := make([]byte, 0, 64)
	for j := range s.jobs {
		for t := range s.jobs[j].traffic {
			level := uint8(0)
			if half >= s.jobs[j].start && half < s.jobs[j].end {
				level = uint8(s.jobs[j].traffic[t].level(half))
			}
			levels = append(levels, level)
		}
	}
	key = append(key, levels...)
	faults := make([]bool, len(s.faults))
	for i := range s.faults {
		faults[i] = s.faults[i].active(half)
		key = append(key, '0')
		if faults[i] {
			key[len(key)-1] = '1'
		}
	}
	if s.states[string(key)] == nil {
		s.states[string(key)] = &state{levels: levels, faults: faults, spared: map[int]*outcome{}}
	}
	return s.states[string(key)]
}

// replay simulates a state without a cause; noCause leaves nothing out.
func (s *scene) replay(st *state, cause int) (*outcome, error) {
	if cause == noCause && st.all != nil {
		return st.all, nil
	}
	if o := st.spared[cause]; o != nil {
		return o, nil
	}
	n, err := s.network(st, cause)
	if err != nil {
		return nil, err
	}
	n.net.Run(warmSteps)
	o := n.measure(replaySteps)
	if cause == noCause {
		st.all = o
	} else {
		st.spared[cause] = o
	}
	return o, nil
}

// noCause is no job and no fault. Causes are the jobs, and after them the groups of faults.
const noCause = -1

// network is a state being simulated.
type network struct {
	scene    *scene
	net      *credits.Network
	channels *routing.Channels
	speeds   *credits.Speeds
	traffic  []int     // by work: its traffic, all jobs in a row
	period   []float64 // by work: cells that are sent in a period
	all      int       // traffics
	fastest  float64
}

// network builds a state without a cause, at rest.
func (s *scene) network(st *state, cause int) (*network, error) {
	n := &network{scene: s, channels: routing.NewChannels(s.graph), speeds: s.speeds(), all: len(st.levels), fastest: fastest(s.graph)}
	for i := range s.faults {
		if st.faults[i] && cause != len(s.jobs)+s.faults[i].group {
			n.apply(&s.faults[i])
		}
	}
	router, err := routing.New(n.channels, s.policy)
	if err != nil {
		return nil, err
	}
	if cause == noCause {
		st.flows = make([][]credits.Flow, len(st.levels))
	}
	var work []credits.Work
	index := -1
	for j := range s.jobs {
		for t := range s.jobs[j].traffic {
			if index++; j == cause || st.levels[index] == 0 {
				continue
			}
			w := s.jobs[j].traffic[t].work(int(st.levels[index]), min(s.send, s.receive))
			w.Seed = s.seed ^ uint64(index)<<20
			w.Flows = s.flows(router, n.channels, index, &s.jobs[j], &s.jobs[j].traffic[t])
			work, n.traffic = append(work, w), append(n.traffic, index)
			n.period = append(n.period, float64(w.Cells*len(w.Flows))/float64(max(1, w.Rounds)))
			if cause == noCause {
				st.flows[index] = w.Flows
			}
		}
	}
	n.net, err = credits.New(n.channels, n.speeds, work)
	return n, err
}

// speeds are the rates of the healthy fabric; the fastest channel moves a cell per step.
func (s *scene) speeds() *credits.Speeds {
	c, most := routing.NewChannels(s.graph), fastest(s.graph)
	v := &credits.Speeds{Channel: make([]float64, c.Len()), Send: make([]float64, s.graph.NumDevices()), Receive: make([]float64, s.graph.NumDevices())}
	for ch := range v.Channel {
		v.Channel[ch] = s.graph.Capacity(c.Link(routing.Channel(ch))) / most
	}
	for d := range v.Send {
		v.Send[d], v.Receive[d] = s.send, s.receive
	}
	return v
}

// fastest is the largest capacity of a link, bytes per second.
func fastest(g *topology.Graph) (most float64) {
	for l := range g.NumLinks() {
		most = max(most, g.Capacity(schema.LinkID(l)))
	}
	return most
}

func (n *network) apply(f *fault) {
	switch f.kind {
	case linkDown, switchDown:
		for _, ch := range f.channels {
			n.channels.SetUp(ch, false)
		}
	case degraded:
		for _, ch := range f.channels {
			n.speeds.Channel[ch] *= f.share
		}
	case slowHost:
		n.speeds.Receive[f.device] *= f.share
	}
}

// measure runs the network and returns what its counters show.
func (n *network) measure(steps int) *outcome {
	n.net.Reset()
	n.net.Run(steps)
	g, stats := n.scene.graph, n.net.Stats()
	o := &outcome{stall: make([]float64, g.NumLinks()), used: make([]float64, g.NumLinks()), sent: make([]float64, g.NumLinks()), delivered: make([]float64, n.all), rate: make([]float64, n.all)}
	for ch := range stats.Waited {
		l := n.channels.Link(routing.Channel(ch))
		o.stall[l] = max(o.stall[l], 100*float64(stats.Waited[ch])/float64(steps))
		o.sent[l] = max(o.sent[l], float64(stats.Sent[ch])/float64(steps))
		o.used[l] = o.sent[l] * n.fastest / g.Capacity(l)
	}
	for w, cells := range stats.Delivered {
		o.delivered[n.traffic[w]] = float64(cells) / float64(steps)
		if o.rate[n.traffic[w]] = o.delivered[n.traffic[w]]; stats.Ended[w] > 0 {
			o.rate[n.traffic[w]] = n.period[w] * float64(stats.Ended[w]) / stats.PeriodSteps[w]
		}
	}
	o.waits = n.net.AppendWaits(nil)
	return o
}
