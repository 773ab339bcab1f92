package routing

import (
	"math"

	"github.com/giverny/giverny/topology"
)

const unreachable = math.MaxUint16

// maxTables bounds the memory of the distance tables, which need two bytes per switch each.
const maxTables = 4096

// shortest finds shortest paths between switches over channels that are up. It caches
// the distances to each destination until the channels change.
type shortest struct {
	channels *Channels
	changes  uint64
	rank     []uint32 // of a device among the switches
	switches int
	tables   map[topology.DeviceID][]uint16 // by destination: distance of every switch, by rank
	queue    []topology.DeviceID
	equal    []Channel
}

func newShortest(c *Channels) shortest {
	s := shortest{channels: c, changes: c.changes, tables: map[topology.DeviceID][]uint16{}}
	n := c.graph.NumDevices()
	s.rank = make([]uint32, n)
	for d := range n {
		if c.graph.IsSwitch(topology.DeviceID(d)) {
			s.rank[d] = uint32(s.switches)
			s.switches++
		}
	}
	return s
}

// route appends a shortest path; at every switch choose returns an index among the n
// equally good channels.
func (s *shortest) route(path []Channel, src, dst topology.DeviceID, choose func(at topology.DeviceID, n int) int) ([]Channel, bool) {
	dist := s.distances(dst)
	if dist[s.rank[src]] == unreachable {
		return path, false
	}
	for at := src; at != dst; {
		s.equal = s.equal[:0]
		here := dist[s.rank[at]]
		for _, ch := range s.channels.Out(at) {
			if to := s.channels.to[ch]; s.channels.up[ch] && s.channels.graph.IsSwitch(to) && dist[s.rank[to]]+1 == here {
				s.equal = append(s.equal, ch)
			}
		}
		ch := s.equal[0]
		if n := len(s.equal); n > 1 {
			ch = s.equal[choose(at, n)]
		}
		path = append(path, ch)
		at = s.channels.to[ch]
	}
	return path, true
}

// distances returns the number of channels from every switch to dst, by breadth-first
// search. Hosts do not forward and have no distance.
func (s *shortest) distances(dst topology.DeviceID) []uint16 {
	if s.changes != s.channels.changes || len(s.tables) >= maxTables {
		clear(s.tables)
		s.changes = s.channels.changes
	}
	if dist, ok := s.tables[dst]; ok {
		return dist
	}
	dist := make([]uint16, s.switches)
	for i := range dist {
		dist[i] = unreachable
	}
	dist[s.rank[dst]] = 0
	s.queue = append(s.queue[:0], dst)
	for head := 0; head < len(s.queue); head++ {
		d := s.queue[head]
		for _, ch := range s.channels.In(d) {
			from := s.channels.from[ch]
			if s.channels.up[ch] && s.channels.graph.IsSwitch(from) && dist[s.rank[from]] == unreachable {
				dist[s.rank[from]] = dist[s.rank[d]] + 1
				s.queue = append(s.queue, from)
			}
		}
	}
	s.tables[dst] = dist
	return dist
}

// hashed chooses among equals like a switch with its own hash.
func hashed(flow uint64) func(topology.DeviceID, int) int {
	return func(at topology.DeviceID, n int) int {
		return int(mix(flow^uint64(at)<<32) % uint64(n))
	}
}

// destinationDigits uses the destination's number as digits, one per choice: D-mod-K
// (Zahavi, "D-Mod-K routing", 2010), which on a full fat tree gives every destination
// below a switch its own up channel.
type destinationDigits uint32

func (d *destinationDigits) choose(_ topology.DeviceID, n int) int {
	digit := uint32(*d) % uint32(n)
	*d /= destinationDigits(n)
	return int(digit)
}
