package linkhealth

import (
	"fmt"

	"github.com/giverny/giverny/internal/codec"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

var format = codec.Format{Mark: "GLNK", Version: 4, Oldest: 1}

// Save returns the state. Counters are saved as rates only: the first readings
// after Load are a new baseline.
func (m *Monitor) Save() []byte { return format.Seal(m.code) }

// Load returns a monitor with a saved state, for the same version of the fabric.
func Load(g *topology.Graph, cfg Config, saved []byte) (*Monitor, error) {
	m, err := New(g, cfg)
	if err != nil {
		return nil, err
	}
	if err := format.Open(saved, m.code); err != nil {
		return nil, fmt.Errorf("link health: the saved state cannot be used: %w", err)
	}
	return m, nil
}

// Restore continues after an interval stored by an earlier process, with its stored
// events. A failed device has recovered when it answers; a failed link when a port
// reports it up.
func (m *Monitor) Restore(i schema.Interval, events []schema.Event) {
	m.fade(i.EndNanos() - max(m.until, i.StartNanos))
	m.until = i.EndNanos()
	m.accept(events, false)
	for d := range m.devices {
		m.devices[d].confirmed = m.devices[d].failed
	}
	for e := range events {
		end, known := m.layout.endOf[schema.PortName{Device: events[e].Device, Port: events[e].Port}]
		switch {
		case !known:
		case events[e].Kind == schema.LinkErrors:
			m.ends[end].erring = true
			m.ends[end].assume(&m.cfg, false)
		case events[e].Kind == schema.LinkFlapping:
			m.flaps[end/2] = true
			m.ends[end].assume(&m.cfg, true)
		}
	}
}

// assume raises the rates of errors, or of losses of the link's training, to their limits. An event says that one of
// them was at its limit, but not which; without its rate it would count as over, and be reported again.
func (e *endState) assume(cfg *Config, flaps bool) {
	if e.tallies == nil {
		e.tallies = new([numCounters]tally)
	}
	for c := range counters {
		if t := &e.tallies[c]; counters[c].flaps == flaps {
			t.hourly = max(t.hourly, counters[c].limit(cfg))
		}
	}
}

func (m *Monitor) code(c *codec.Coder) {
	version := m.graph.Version()
	c.Uint(&version, ^uint64(0))
	if version != m.graph.Version() {
		c.Fail(fmt.Errorf("it belongs to version %016x of the fabric, the current version is %016x", version, m.graph.Version()))
		return
	}
	c.Int(&m.until)
	codeSome(c, m.devices, (*watch).suspect, codeWatch)
	codeSome(c, m.links, (*watch).suspect, codeWatch)
	codeSome(c, m.flaps, func(on *bool) bool { return *on }, func(c *codec.Coder, on *bool) { c.Bool(on) })
	if c.Version() > 3 {
		codeSome(c, m.used, func(on *bool) bool { return *on }, func(c *codec.Coder, on *bool) { c.Bool(on) })
	}
	codeSome(c, m.ends, (*endState).memorable, codeEnd)
	for k := range m.losses {
		if c.Version() > 1 && !c.Failed() {
			m.losses[k].code(c)
		}
	}
}

// codeSome encodes only those elements of a fixed-length slice for which worth is true.
func codeSome[T any](c *codec.Coder, all []T, worth func(*T) bool, code func(*codec.Coder, *T)) {
	var which []uint32
	for i := range all {
		if !c.Reading() && worth(&all[i]) {
			which = append(which, uint32(i))
		}
	}
	codec.Ascending(c, &which, len(all))
	for _, i := range which {
		if !c.Failed() {
			code(c, &all[i])
		}
	}
}

func codeWatch(c *codec.Coder, w *watch) {
	c.Bool(&w.failed)
	c.Bool(&w.confirmed)
	if c.Version() > 1 {
		c.Bool(&w.evident)
	}
	codec.Small(c, &w.bad, maxDebounce+1)
	codec.Small(c, &w.good, maxDebounce+1)
	if c.Version() > 3 {
		c.Bool(&w.silent)
		alive := w.alive + maxDebounce // a count has no sign
		codec.Small(c, &alive, 2*maxDebounce+1)
		w.alive = alive - maxDebounce
	}
}

func (e *endState) memorable() bool {
	return e.heard || e.missed || e.unread || e.erring || e.tallies != nil
}

func codeEnd(c *codec.Coder, e *endState) {
	c.Bool(&e.heard)
	c.Bool(&e.missed)
	c.Bool(&e.erring)
	if c.Version() > 2 {
		c.Bool(&e.unread)
	}
	counted := uint64(0) // a bit by counter
	if e.tallies != nil {
		for i := range e.tallies {
			if e.tallies[i].hourly > 0 {
				counted |= 1 << i
			}
		}
	}
	c.Uint(&counted, 1<<numCounters-1)
	if counted == 0 {
		return
	}
	if c.Reading() {
		e.tallies = new([numCounters]tally)
	}
	for i := range e.tallies {
		if counted&(1<<i) != 0 {
			c.Float(&e.tallies[i].hourly)
		}
	}
}
