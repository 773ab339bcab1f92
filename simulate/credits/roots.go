package credits

import (
	"slices"

	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

const (
	sampleEvery = 8  // steps between two looks at where waits begin
	recent      = 8  // steps: an output that lacked credits in the last ones is itself held up
	mostHops    = 64 // of a chain of waits; a longer one is a cycle
)

// Wait is how often a channel's wait began at an exit: a channel that lacks no credits itself, or a host.
type Wait struct {
	Channel routing.Channel // that waits
	At      routing.Channel // where its wait begins; NoChannel if that is a host
	Host    topology.DeviceID
	Times   int
}

// exits are the turns of every buffer.
type exits struct {
	off   []int32
	turns []int32
}

func newExits(n *Network) exits {
	e := exits{off: make([]int32, len(n.occupied)+1), turns: make([]int32, len(n.turns))}
	for i := range n.turns {
		if t := &n.turns[i]; int(t.input) < len(n.occupied) {
			e.off[t.input+1]++
		}
	}
	for b := range n.occupied {
		e.off[b+1] += e.off[b]
	}
	fill := slices.Clone(e.off)
	for i := range n.turns {
		if t := &n.turns[i]; int(t.input) < len(n.occupied) {
			e.turns[fill[t.input]] = int32(i)
			fill[t.input]++
		}
	}
	return e
}

// sample follows every wait of this step to where it begins: from the full buffer to the output that most of its cells want,
// and on while that lacks credits as well.
func (n *Network) sample() {
	for _, o := range n.active {
		if n.blocked[o].at != n.now {
			continue
		}
		at := o
		for range mostHops {
			if at = n.mostWanted(n.blocked[at].buffer); int(at) >= n.channels || n.now-n.blocked[at].at > recent {
				break
			}
		}
		n.samples = append(n.samples, uint64(o)<<32|uint64(at))
	}
}

// mostWanted is the output that most cells of a buffer wait for.
func (n *Network) mostWanted(buffer int32) int32 {
	best, most := int32(-1), int32(-1)
	for _, i := range n.exits.turns[n.exits.off[buffer]:n.exits.off[buffer+1]] {
		if t := &n.turns[i]; t.many > most {
			best, most = t.output, t.many
		}
	}
	return best
}

// AppendWaits appends where the waits since the last Reset began, by channel.
func (n *Network) AppendWaits(waits []Wait) []Wait {
	slices.Sort(n.samples)
	for i := 0; i < len(n.samples); {
		first := i
		for i < len(n.samples) && n.samples[i] == n.samples[first] {
			i++
		}
		w := Wait{Channel: routing.Channel(n.samples[first] >> 32), At: routing.Channel(n.samples[first] & (1<<32 - 1)), Times: i - first}
		if int(w.At) >= n.channels {
			w.Host, w.At = n.ports.device[int(w.At)-n.channels], routing.NoChannel
		}
		waits = append(waits, w)
	}
	return waits
}
