package nccl

import (
	"slices"
	"testing"
)

// The ranks of a smaller communicator are those of the same processes in the largest one, if their ids tell them apart;
// otherwise they are ranks of their own.
func TestProcessesOfCommunicators(t *testing.T) {
	type call struct {
		pid          int64
		communicator string
		rank         int
	}
	world := []call{{10, "w", 0}, {11, "w", 1}, {12, "w", 2}}
	for name, c := range map[string]struct {
		calls []call
		want  []int // the job's ranks of communicator s
		ranks int
	}{
		"distinct":              {append(slices.Clone(world), call{12, "s", 0}, call{10, "s", 1}), []int{2, 0}, 3},
		"before the largest":    {append([]call{{12, "s", 0}, {10, "s", 1}}, world...), []int{2, 0}, 3},
		"a rank traced twice":   {append(slices.Clone(world), call{10, "w", 0}, call{10, "s", 0}, call{11, "s", 1}), []int{0, 1}, 3},
		"an id of two ranks":    {[]call{{10, "w", 0}, {10, "w", 1}, {12, "w", 2}, {10, "s", 0}, {12, "s", 1}}, []int{3, 2}, 4},
		"and once more":         {[]call{{10, "w", 0}, {10, "w", 1}, {10, "w", 0}, {12, "w", 2}, {10, "s", 0}, {12, "s", 1}}, []int{3, 2}, 4},
		"an id of no rank":      {append(slices.Clone(world), call{99, "s", 0}, call{11, "s", 1}), []int{3, 1}, 4},
		"two claim a rank":      {append(slices.Clone(world), call{11, "s", 0}, call{12, "s", 0}, call{10, "s", 1}), []int{1, 0}, 3},
		"a rank without traces": {append(slices.Clone(world), call{11, "s", 1}), []int{3, 1}, 4},
	} {
		var traces []*Trace
		for _, x := range c.calls {
			traces = append(traces, &Trace{PID: x.pid, Collectives: []TracedCollective{{Communicator: x.communicator, Rank: x.rank, Operation: "AllReduce", Algorithm: "RING"}}})
		}
		run, err := Run(traces)
		if err != nil || len(run.Communicators) != 2 {
			t.Errorf("%s: %+v, %v", name, run.Communicators, err)
			continue
		}
		if w, s := run.Communicators[0].Members, run.Communicators[1].Members; !slices.Equal(w, []int{0, 1, 2}) || !slices.Equal(s, c.want) || len(run.Ranks) != c.ranks {
			t.Errorf("%s: members %v and %v of %d ranks, want 0 to 2 and %v of %d", name, w, s, len(run.Ranks), c.want, c.ranks)
		}
	}
}
