package flightrecorder

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// place is a group and sequence number, under which ranks must have enqueued the same.
type place struct {
	group string
	seq   int64
}

// disagree compares what the ranks of a group enqueued under each sequence number.
func (a *analysis) disagree() {
	choices := map[place]map[string][]int{}
	var places []place
	for _, r := range a.ranks {
		for k, ops := range a.enqueued(r) {
			if choices[k] == nil {
				choices[k] = map[string][]int{}
				places = append(places, k)
			}
			what := strings.Join(ops, " and ")
			choices[k][what] = append(choices[k][what], r)
		}
	}
	slices.SortFunc(places, func(x, y place) int { return cmp.Or(cmp.Compare(x.group, y.group), cmp.Compare(x.seq, y.seq)) })
	said := map[string]bool{} // only the first per group counts: later ones follow from it
	for _, k := range places {
		if len(choices[k]) > 1 && !said[k.group] {
			said[k.group] = true
			a.out.Disagreements = append(a.out.Disagreements, minority(k.group, k.seq, choices[k]))
		}
	}
}

// enqueued returns a rank's operations by sequence number. Coalesced operations share
// one number and end with an entry of their own; those that are only partly in the ring
// buffer are omitted.
func (a *analysis) enqueued(r int) map[place][]string {
	d := a.dumps[r]
	out := map[place][]string{}
	for i := range d.Entries {
		e := &d.Entries[i]
		if e.P2P || e.Seq < 0 || len(a.members(r, e)) == 1 {
			continue
		}
		k := place{a.groupName(r, e), e.Seq}
		first := &d.Entries[0]
		cut := d.wrapped() && first.State == Completed && first.Group == e.Group && first.Seq == e.Seq
		switch {
		case closes(e) && cut:
			delete(out, k)
		case !closes(e) && !slices.Contains(out[k], operation(e)):
			out[k] = append(out[k], operation(e))
		}
	}
	return out
}

// closes reports whether an entry is the one that PyTorch adds after coalesced
// operations: nccl:coalesced, nccl:ALLGATHER_coalesced and the like. Operations on
// several tensors are lower-case, such as all_reduce_coalesced.
func closes(e *Entry) bool {
	name := e.Op[strings.LastIndexByte(e.Op, ':')+1:]
	kind, ok := strings.CutSuffix(name, "coalesced")
	return ok && kind == strings.ToUpper(kind)
}

// operation returns what ranks must agree on: the name, and the tensors that must be
// the same on all ranks, as compared by PyTorch's own analyser
// (torch/distributed/flight_recorder, Op.match): all inputs except those of an
// all-to-all and a scatter, where only the root has some, and all outputs except those
// of an all-to-all and a gather. Input types of a broadcast are ignored, since only the
// root's matter. Deviations: states may differ, as they do in a hang; for broadcasts
// and reductions that implement an uneven all_gather or reduce_scatter (..._oop) only
// names are compared, since their tensors include each rank's own part.
func operation(e *Entry) string {
	_, name, found := strings.Cut(e.Op, ":")
	if !found {
		name = e.Op
	}
	name = strings.TrimPrefix(name, "_")
	kind := strings.ToLower(name)
	is := func(kinds ...string) bool {
		return slices.ContainsFunc(kinds, func(k string) bool { return strings.Contains(kind, k) })
	}
	var parts []string
	add := func(t Tensors) {
		if tensors := t.Types + t.Sizes; tensors != "" && !slices.Contains(parts, tensors) {
			parts = append(parts, tensors)
		}
	}
	switch {
	case is("all_to_all", "alltoall", "_oop") || !is("reduce", "gather", "scatter", "broadcast", "barrier"):
	case is("broadcast"):
		add(Tensors{Sizes: e.Inputs.Sizes})
		add(e.Outputs)
	case kind == "scatter":
		add(e.Outputs)
	case kind == "gather":
		add(e.Inputs)
	default:
		add(e.Inputs)
		add(e.Outputs)
	}
	return strings.TrimSpace(name + " " + strings.Join(parts, " to "))
}

func minority(group string, seq int64, choices map[string][]int) Disagreement {
	ops := slices.SortedFunc(maps.Keys(choices), func(x, y string) int {
		return cmp.Or(cmp.Compare(len(choices[y]), len(choices[x])), cmp.Compare(x, y))
	})
	d := Disagreement{Group: group, Seq: seq, Op: ops[0]}
	rest := ops[1:]
	if len(choices[ops[0]]) == len(choices[ops[1]]) {
		rest = ops
		for _, op := range ops {
			d.Sides = append(d.Sides, rankList(choices[op])+" enqueued "+op)
		}
	}
	for _, op := range rest {
		d.Ranks = append(d.Ranks, choices[op]...)
	}
	slices.Sort(d.Ranks)
	d.Ranks = slices.Compact(d.Ranks)
	d.Enqueued = strings.Join(ops[1:], " and ")
	return d
}
