package diagnose

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// centre is the switch of a grid around which a region lies, if it lies around one.
type centre struct {
	device topology.DeviceID
	share  float64 // of the stall at the switch, what the next one has
	clear  bool
}

const (
	// clearCentre is the most that any other switch has, of the stall at the links of the centre.
	clearCentre = .75
	// centreLinks is how many of the centre's links stall at least.
	centreLinks = 3
)

// centreOf finds the switch at whose links most of a region's stall is: what is not taken there waits around it.
func (s *Stage) centreOf(rc *regionCase) centre {
	w := &s.work.centre
	for i, l := range rc.region.Links {
		from, to := s.graph.Ends(l)
		w.add(from, rc.weight[i])
		w.add(to, rc.weight[i])
	}
	var c centre
	most, second := 0., 0.
	for _, d := range w.devices {
		switch sum := w.stall[d]; {
		case sum > most || sum == most && d < c.device:
			c.device, most, second = d, sum, most
		case sum > second:
			second = sum
		}
	}
	c.share = second / most
	c.clear = c.share <= clearCentre && w.links[c.device] >= centreLinks
	w.reset()
	return c
}

// centres are the devices at the links of a region. Its memory is used again by the next region.
type centres struct {
	devices []topology.DeviceID
	stall   []float64 // by device, of its links
	links   []int32   // by device, how many
}

func newCentres(devices int) centres {
	return centres{stall: make([]float64, devices), links: make([]int32, devices)}
}

func (c *centres) add(d topology.DeviceID, stall float64) {
	if c.links[d] == 0 {
		c.devices = append(c.devices, d)
	}
	c.stall[d] += stall
	c.links[d]++
}

func (c *centres) reset() {
	for _, d := range c.devices {
		c.stall[d], c.links[d] = 0, 0
	}
	c.devices = c.devices[:0]
}

// began is the slot of an onset.
func (s *Stage) began(rc *regionCase) int64 { return s.clock.now - int64(len(rc.stall)-1-rc.onset) }

// beganAgain is the slot of an onset, or of the end of the last pause since.
func (s *Stage) beganAgain(rc *regionCase) int64 {
	return s.clock.now - int64(len(rc.stall)-1-rc.again)
}

// before is the slots from which is taken what was usual before an onset.
func (s *Stage) before(rc *regionCase) (from, to int64) {
	onset := s.began(rc)
	return max(s.clock.first, onset-settle-baseline, s.clock.now-int64(s.cfg.Window)+1), onset - settle
}

// loadChange is what a region's links carry now, of what they carried before its onset; 0 if one of them is
// not known.
func (s *Stage) loadChange(rc *regionCase) float64 {
	use := s.memory.metrics[schema.BandwidthUsed]
	if use == nil || rc.onset < 0 {
		return 0
	}
	from, to := s.before(rc)
	was, n := 0., 0.
	for slot := from; slot < to; slot++ {
		if v := use.mean(slot, rc.region.Links); !isMissing(v) {
			was, n = was+float64(v), n+1
		}
	}
	now := use.mean(s.clock.now, rc.region.Links)
	if n == 0 || isMissing(now) {
		return 0
	}
	const calm = 1 // percent: below, ratios say nothing
	return max(1e-3, (float64(now)+calm)/(was/n+calm))
}

// usedBefore gives what a link carried before the onset, percent of its capacity; -1 where that is not known. It holds
// until it is asked of another region.
func (s *Stage) usedBefore(rc *regionCase) func(schema.LinkID) float64 {
	from, to := int64(0), int64(0)
	use := s.memory.metrics[schema.BandwidthUsed]
	if use != nil && rc.onset >= 0 {
		from, to = s.before(rc)
	}
	s.work.past.turnTo(s.work.interval, from, to, use)
	return s.work.past.of
}
