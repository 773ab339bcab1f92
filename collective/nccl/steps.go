package nccl

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/giverny/giverny/collective"
)

// maxSteps bounds the network steps of a job's traces.
const maxSteps = 32 << 20

// traced identifies a collective of a job across the ranks of its communicator.
type traced struct {
	communicator, operation string
	sequence                int64
}

// jobTraces merges the traces of a job.
type jobTraces struct {
	run           collective.Run
	communicators map[string]int
	ranks         map[string]map[int]int // rank of the job, by communicator and rank in it
	iteration     map[traced]int
	senders       map[arrival]int // rank in the communicator
	notes         map[string]int  // number of collectives by what was left out
}

// arrival is the receiving end of a channel.
type arrival struct {
	traced
	channel, rank int // in the communicator
}

// Run converts the traces of a job, one or more per rank, into step records: the
// network steps of ring collectives. Ranks are those of the largest communicator, named
// by number, followed by processes outside it. A send of chunk step s needs what the
// ring's predecessor sent as chunk step s-1.
func Run(traces []*Trace) (collective.Run, error) {
	j := &jobTraces{communicators: map[string]int{}, ranks: map[string]map[int]int{}, iteration: map[traced]int{}, senders: map[arrival]int{}, notes: map[string]int{}}
	if err := j.number(traces); err != nil {
		return j.run, err
	}
	if len(j.run.Ranks) == 0 {
		return j.run, errors.New("no collectives in the traces: set NCCL_PROFILE_EVENT_MASK so that the plug-in writes collectives, proxy operations and proxy steps (2, 8 and 16), and give the files of all ranks")
	}
	j.order(traces)
	j.missing(traces)
	for _, t := range traces {
		for i := range t.Collectives {
			if err := j.steps(&t.Collectives[i]); err != nil {
				return j.run, fmt.Errorf("%s: %w", t.Name, err)
			}
		}
		if t.Cut {
			j.note(fmt.Sprintf("%s is truncated", t.Name))
		}
	}
	for what, n := range j.notes {
		if n > 1 {
			what = fmt.Sprintf("%s, %d times", what, n)
		}
		j.run.Notes = append(j.run.Notes, what)
	}
	slices.Sort(j.run.Notes)
	return j.run, nil
}

func (j *jobTraces) note(what string) { j.notes[what]++ }

// number assigns the processes their ranks in the job.
func (j *jobTraces) number(traces []*Trace) error {
	size := map[string]int{}
	for _, t := range traces {
		for _, c := range t.Collectives {
			size[c.Communicator] = max(size[c.Communicator], c.Rank+1)
			for _, s := range c.Sends {
				size[c.Communicator] = max(size[c.Communicator], s.Peer+1)
			}
		}
	}
	names, all := make([]string, 0, len(size)), 0
	for name, ranks := range size {
		names = append(names, name)
		all += ranks
	}
	if all > maxRanks {
		return fmt.Errorf("communicators of %d ranks together: want at most %d", all, maxRanks)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(size[b], size[a]), cmp.Compare(a, b)) })
	process := map[int64]int{} // rank of the job by process id; -1: ambiguous
	for n, name := range names {
		j.communicators[name], j.ranks[name] = n, map[int]int{}
		if n == 0 {
			for r := range size[name] {
				j.ranks[name][r] = r
				j.run.Ranks = append(j.run.Ranks, collective.Rank{Node: strconv.Itoa(r), Host: collective.None})
			}
		}
		for _, t := range traces {
			j.processes(t, name, process, n == 0)
		}
		members := make([]int, size[name])
		for r := range members {
			if _, known := j.ranks[name][r]; !known {
				j.ranks[name][r] = j.newRank()
			}
			members[r] = j.ranks[name][r]
		}
		j.run.Communicators = append(j.run.Communicators, collective.Communicator{Name: name, Members: members, Algorithm: collective.Custom})
	}
	return nil
}

func (j *jobTraces) newRank() int {
	n := len(j.run.Ranks)
	j.run.Ranks = append(j.run.Ranks, collective.Rank{Node: strconv.Itoa(n), Host: collective.None})
	return n
}

// missing marks the ranks that have no collective in any trace.
func (j *jobTraces) missing(traces []*Trace) {
	for i := range j.run.Ranks {
		j.run.Ranks[i].Missing = true
	}
	for _, t := range traces {
		for _, c := range t.Collectives {
			j.run.Ranks[j.ranks[c.Communicator][c.Rank]].Missing = false
		}
	}
}

// processes maps the ranks of a communicator to ranks of the job, by the process ids of
// the largest one, if these are distinct.
func (j *jobTraces) processes(t *Trace, communicator string, process map[int64]int, world bool) {
	for _, c := range t.Collectives {
		if c.Communicator != communicator {
			continue
		}
		rank, known := process[t.PID]
		switch {
		case world && (!known || rank == c.Rank):
			process[t.PID] = c.Rank
		case world:
			process[t.PID] = -1
		case known && rank >= 0:
			if _, taken := j.ranks[communicator][c.Rank]; !taken {
				j.ranks[communicator][c.Rank] = rank
			}
		}
	}
}

// order numbers the collectives of each communicator in the order of the rank that has
// the most of them, followed by those that it lacks.
func (j *jobTraces) order(traces []*Trace) {
	type list struct {
		rank int
		keys []traced
	}
	lists := map[string][]list{}
	for _, t := range traces {
		for _, c := range t.Collectives {
			k := c.key()
			for _, s := range c.Sends {
				j.senders[arrival{k, s.Channel, s.Peer}] = c.Rank
			}
			of := lists[c.Communicator]
			i := slices.IndexFunc(of, func(l list) bool { return l.rank == c.Rank })
			if i < 0 {
				i = len(of)
				of = append(of, list{rank: c.Rank})
			}
			of[i].keys = append(of[i].keys, k)
			lists[c.Communicator] = of
		}
	}
	for _, of := range lists {
		slices.SortStableFunc(of, func(a, b list) int { return cmp.Or(cmp.Compare(len(b.keys), len(a.keys)), cmp.Compare(a.rank, b.rank)) })
		n := 0
		for _, l := range of {
			for _, k := range l.keys {
				if _, known := j.iteration[k]; !known {
					j.iteration[k] = n
					n++
				}
			}
		}
	}
}

// chunkSteps is how many chunk steps a ring needs for an operation; 0: not supported.
func chunkSteps(operation string, ranks int) int {
	switch operation {
	case "AllReduce":
		return 2 * (ranks - 1)
	case "AllGather", "ReduceScatter":
		return ranks - 1
	}
	return 0
}

func (c *TracedCollective) key() traced { return traced{c.Communicator, c.Operation, c.Sequence} }

// steps appends the step records of a collective of one rank.
func (j *jobTraces) steps(c *TracedCollective) error {
	communicator, ranks := j.communicators[c.Communicator], j.ranks[c.Communicator]
	perLoop := chunkSteps(c.Operation, len(j.run.Communicators[communicator].Members))
	if c.Algorithm != "RING" || perLoop == 0 {
		perLoop = 0
		j.note(fmt.Sprintf("%s by %s: it is not known what its sends wait for", c.Operation, cmp.Or(c.Algorithm, "an unnamed algorithm")))
	}
	sent := map[int]int{} // network steps so far, by channel
	for i := range c.Sends {
		s := &c.Sends[i]
		list := s.network()
		slices := slicesOf(list, perLoop)
		before, known := j.senders[arrival{c.key(), s.Channel, c.Rank}]
		for _, x := range list {
			if x.BeginNanos == 0 {
				continue // it was never sent
			}
			r := collective.StepRecord{Communicator: int32(communicator), Iteration: int32(j.iteration[c.key()]), Channel: int32(s.Channel),
				Rank: int32(ranks[c.Rank]), Peer: int32(ranks[s.Peer]), Bytes: s.Bytes / int64(len(list)), BeginNanos: x.BeginNanos, EndNanos: x.EndNanos}
			n := sent[s.Channel]
			sent[s.Channel]++
			r.Step, r.AwaitsStep = int32(n+1), collective.None
			if perLoop > 0 {
				within := n % (perLoop * slices) / slices
				r.Step, r.Chunk = int32(within+1), int32(n/(perLoop*slices)*slices+n%slices)
				if within > 0 && known {
					r.AwaitsRank, r.AwaitsStep = int32(ranks[before]), int32(within)
				}
			}
			j.run.Steps = append(j.run.Steps, r)
		}
		if len(j.run.Steps) > maxSteps {
			return fmt.Errorf("more than %d network steps: give fewer collectives", maxSteps)
		}
	}
	return nil
}

// network returns a send's steps in order, or the send as a whole if they were not profiled.
func (s *TracedSend) network() []TracedStep {
	if len(s.Steps) == 0 {
		return []TracedStep{{BeginNanos: s.BeginNanos, EndNanos: s.EndNanos}}
	}
	list := slices.Clone(s.Steps)
	slices.SortStableFunc(list, func(a, b TracedStep) int { return cmp.Compare(a.Step, b.Step) })
	return list
}

// slicesOf is the number of slices per chunk. NCCL's simple protocol splits a ring's
// chunks in two and advances network steps by two; the others send whole chunks.
func slicesOf(list []TracedStep, perLoop int) int {
	least := 0
	for i := 1; i < len(list); i++ {
		if d := list[i].Step - list[i-1].Step; d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	if perLoop > 0 && least == 2 && len(list)%(2*perLoop) == 0 {
		return 2
	}
	return 1
}
