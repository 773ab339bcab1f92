package replay

import (
	"math"

	"github.com/giverny/giverny/simulate/credits"
)

// Halves of a minute are the unit of time of a scene.
const halves = 2

// job is a job, listed in the job table or not.
type job struct {
	id, name, user string
	hosts          []int
	start, end     int // halves; a start before the scene is negative
	unlisted       bool
	hasRail        bool // exchanges over one rail only
	rail           int
	traffic        []traffic
}

// traffic is one kind of traffic of a job.
type traffic struct {
	pairs   [][2]int // sending and receiving hosts
	cells   int      // of a pair at a time, over each of its rails
	rounds  int      // of an exchange; 0: all pairs at once
	file    file
	pulls   bool    // RDMA reads instead of writes, for its counters
	duty    float64 // of an exchange: the share of time that it would take without hindrance, at most 1
	rate    float64 // of a stream: cells per step, pair and rail
	from    int     // halves
	to      int
	low     float64 // share of the load with which it begins; 0: all of it
	rises   int     // halves from low to all of it, in steps
	risesAt int     // halves after from before it rises
}

// file is the direction of file traffic.
type file uint8

const (
	noFile file = iota
	reads
	writes
)

// levels is the number of steps in which a load rises. Every step is another scene to replay.
const levels = 3

// level is the traffic's step at a time, 0 to levels.
func (t *traffic) level(at int) int {
	switch {
	case at < t.from || at >= t.to:
		return 0
	case t.low == 0:
		return levels
	case at < t.from+t.risesAt:
		return 1
	case t.rises == 0:
		return levels
	}
	return min(levels, 2+(at-t.from-t.risesAt)*(levels-1)/t.rises)
}

// share is the part of the load at a level.
func (t *traffic) share(level int) float64 {
	if t.low == 0 {
		return 1
	}
	return t.low + (1-t.low)*float64(level-1)/(levels-1)
}

// work is the traffic at a level for the simulator, without flows.
func (t *traffic) work(level int, speed float64) credits.Work {
	w := credits.Work{Cells: t.cells, Barrier: t.rate == 0, Rounds: t.rounds}
	if !w.Barrier {
		w.PauseSteps = float64(t.cells) / (t.rate * t.share(level))
		return w
	}
	alone := float64(t.cells) * max(1, t.busiest()/float64(max(1, t.rounds))) / speed
	w.PauseSteps = alone * (1/math.Min(1, t.duty*t.share(level)) - 1)
	return w
}

// busiest is the largest number of pairs that a host sends to or receives from.
func (t *traffic) busiest() float64 {
	out, in, most := map[int]int{}, map[int]int{}, 0
	for _, p := range t.pairs {
		out[p[0]]++
		in[p[1]]++
		most = max(most, out[p[0]], in[p[1]])
	}
	return float64(most)
}

// mostPeers limits the peers of a rank in an all-to-all; those of larger jobs are spread evenly.
const mostPeers = 16

func allToAll(hosts []int) (pairs [][2]int) {
	n := len(hosts)
	peers := min(n-1, mostPeers)
	for i := range hosts {
		for k := range peers {
			pairs = append(pairs, [2]int{hosts[i], hosts[(i+1+k*(n-1)/peers)%n]})
		}
	}
	return pairs
}

// halo is an exchange with the neighbours in a grid of ranks, a row of which has about the square root of them.
func halo(hosts []int) (pairs [][2]int) {
	n := len(hosts)
	row := max(1, int(math.Sqrt(float64(n))))
	for i := range hosts {
		for _, k := range []int{1, n - 1, row, n - row} {
			if j := (i + k) % n; j != i {
				pairs = append(pairs, [2]int{hosts[i], hosts[j]})
			}
		}
	}
	return pairs
}

// opposite pairs every rank with the one half-way round.
func opposite(hosts []int) (pairs [][2]int) {
	for i := range hosts {
		if j := (i + len(hosts)/2) % len(hosts); j != i {
			pairs = append(pairs, [2]int{hosts[i], hosts[j]})
		}
	}
	return pairs
}

// toOne is from all hosts to one.
func toOne(hosts []int, target int) (pairs [][2]int) {
	for _, h := range hosts {
		if h != target {
			pairs = append(pairs, [2]int{h, target})
		}
	}
	return pairs
}

// striped is between hosts and storage nodes, as many of them for each host as there are stripes.
func striped(hosts, storage []int, stripes int, to bool) (pairs [][2]int) {
	for i, h := range hosts {
		for k := range min(stripes, len(storage)) {
			s := storage[(i+k)%len(storage)]
			switch {
			case s == h:
			case to:
				pairs = append(pairs, [2]int{h, s})
			default:
				pairs = append(pairs, [2]int{s, h})
			}
		}
	}
	return pairs
}
