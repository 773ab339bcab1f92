package linkhealth

import (
	"math"
	"time"
)

// counters are the counters that are judged by their rates.
var counters = [...]struct {
	name  string
	limit func(*Config) float64
	flaps bool // it counts losses of the link's training, over both ports
}{
	{"ib.symbol_error", errorLimit, false},
	{"ib.port_rcv_errors", errorLimit, false},
	{"ib.local_link_integrity_errors", errorLimit, false},
	{"ib.excessive_buffer_overrun_errors", errorLimit, false},
	{"mlx5.rx_crc_errors_phy", errorLimit, false},
	{"mlx5.rx_symbol_err_phy", errorLimit, false},
	{"ib.link_error_recovery", recoveryLimit, false},
	{"ib.link_downed", flapLimit, true},
	{"mlx5.link_down_events_phy", flapLimit, true},
}

const numCounters = len(counters)

func errorLimit(c *Config) float64    { return c.ErrorsPerHour }
func recoveryLimit(c *Config) float64 { return c.RecoveriesPerHour }
func flapLimit(c *Config) float64     { return c.FlapsPerHour }

// counterOf is the counter's index in the table, or -1.
func counterOf(name string) int {
	for i := range counters {
		if counters[i].name == name {
			return i
		}
	}
	return -1
}

// tally is one counter of one port.
type tally struct {
	last   uint64
	before uint64 // last before it fell to what it is now; 0 if it has not
	nanos  int64  // when last was read
	read   bool
	risen  float64 // increase in this interval
	hourly float64 // an exponentially weighted sum over the last hour
}

const memory = time.Hour

// fade decays earlier counts.
func (m *Monitor) fade(elapsedNanos int64) {
	share := math.Exp(-float64(max(0, elapsedNanos)) / float64(memory))
	for e := range m.ends {
		t := m.ends[e].tallies
		if t == nil {
			continue
		}
		for c := range t {
			t[c].risen = 0
			if t[c].hourly *= share; t[c].hourly < .01 {
				t[c].hourly = 0
			}
		}
	}
}

// count processes a reading of an instant. A reading that is no newer than the last is another agent's, or came late, and
// tells nothing new.
func (m *Monitor) count(end int32, counter int, value uint64, nanos int64) {
	e := &m.ends[end]
	if e.tallies == nil {
		e.tallies = new([numCounters]tally)
	}
	t := &e.tallies[counter]
	if t.read && nanos <= t.nanos {
		return
	}
	if risen := t.rise(value); t.read && risen > 0 {
		t.risen += float64(risen)
		if counters[counter].flaps {
			e.retrains, m.ends[far(end)].retrains = true, true
		}
	}
	t.last, t.nanos, t.read = value, nanos, true
}

// rise is by how much the counter has risen to a value. One that decreased was cleared, and has risen from zero. But one that
// kept more than half is another agent's older reading, whose clock is ahead; and one that recovers was not cleared: some
// devices occasionally report zero.
func (t *tally) rise(value uint64) uint64 {
	before := t.before
	if value != t.last {
		t.before = 0
	}
	switch {
	case value < t.last && value > t.last/2:
		return 0
	case value < t.last:
		t.before = t.last
		return value
	case before > 0 && value >= before:
		return value - before
	}
	return value - t.last
}

// judgeErrors looks for ports with errors and links that flap. Errors of a link that is
// down or training are ignored as a consequence of that.
func (m *Monitor) judgeErrors(nanos int64) {
	for i := range m.layout.cables {
		flaps := 0.0
		quiet := m.links[i].suspect() || m.covered(m.layout.cables[i].ends[0]) || m.covered(m.layout.cables[i].ends[1])
		for end := int32(2 * i); end <= int32(2*i+1); end++ {
			e := &m.ends[end]
			if e.tallies == nil {
				continue
			}
			flaps = max(flaps, e.add(quiet || e.retrains))
			if !quiet {
				m.judgePort(nanos, end)
			}
		}
		if changed(&m.flaps[i], flaps, m.cfg.FlapsPerHour) && m.flaps[i] {
			m.emitFlapping(nanos, i, flaps)
		}
	}
}

// add adds the interval's counts, optionally without errors, and returns how often per
// hour the port lost its link.
func (e *endState) add(withoutErrors bool) (flaps float64) {
	for c := range e.tallies {
		t := &e.tallies[c]
		if counters[c].flaps || !withoutErrors {
			t.hourly += t.risen
		}
		if counters[c].flaps {
			flaps = max(flaps, t.hourly)
		}
	}
	return flaps
}

// judgePort compares a port's error rates with the limits, and reports the worst.
func (m *Monitor) judgePort(nanos int64, end int32) {
	e, worst, excess, limit := &m.ends[end], 0, 0.0, 0.0
	for c := range counters {
		l := counters[c].limit(&m.cfg)
		if counters[c].flaps || l == 0 {
			continue
		}
		if x := e.tallies[c].hourly / l; x > excess {
			worst, excess, limit = c, x, l
		}
	}
	if changed(&e.erring, excess*limit, limit) && e.erring {
		m.emitErrors(nanos, end, counters[worst].name, e.tallies[worst].hourly, limit)
	}
}

// changed switches a state on at a limit, and off below half of it (hysteresis).
func changed(on *bool, hourly, limit float64) bool {
	was := *on
	*on = limit > 0 && (math.Round(hourly) >= limit || was && hourly >= limit/2)
	return *on != was
}
