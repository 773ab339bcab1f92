package vedrfolnir

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/giverny/giverny/collective"
)

// collectivePort is the destination port of the simulation's collective flows.
const collectivePort = 10000

// transfer is a line of fct.txt. Step 0 marks a background flow.
type transfer struct {
	source, destination         int // node numbers
	step, awaited, previous     int // send_step, recv_step, and the sender in recv_step
	sourcePort, destinationPort int
	bytes                       int64
	begin, duration, alone      int64
}

// transferLine reads a line of fct.txt: for the collective "sid did send_step recv_step
// prev sport dport bytes start fct standalone", for another flow "### sid did sport
// dport bytes start fct standalone".
func (r *reader) transferLine(path string, line int, fields []string) error {
	r.lastLine = fmt.Sprintf("%s:%d", filepath.Base(path), line)
	if len(r.transfers) >= maxRecords {
		return errLine
	}
	// In a truncated line the last number may be too small. Only the last of eleven
	// fields, the time alone, is dispensable.
	if r.cut = r.unterminated; r.cut && len(fields) < 11 {
		return errLine
	}
	if fields[0] == "###" {
		n, err := numbers(fields[1:])
		if err != nil || len(n) < 7 || n[0] >= maxNodes || n[1] >= maxNodes {
			return errLine
		}
		r.transfers = append(r.transfers, transfer{source: int(n[0]), destination: int(n[1]), sourcePort: int(n[2]), destinationPort: int(n[3]), bytes: n[4], begin: n[5], duration: n[6]})
		return nil
	}
	n, err := numbers(fields)
	if err != nil || len(n) < 10 || n[0] >= maxNodes || n[1] >= maxNodes || n[0] == n[1] || n[2] < 1 || n[2] > maxRecords || n[3] > maxRecords || n[4] >= maxNodes {
		return errLine
	}
	t := transfer{
		source: int(n[0]), destination: int(n[1]), step: int(n[2]), awaited: int(n[3]), previous: int(n[4]),
		sourcePort: int(n[5]), destinationPort: int(n[6]), bytes: n[7], begin: n[8], duration: n[9],
	}
	if len(n) > 10 && !r.unterminated {
		t.alone = n[10]
	}
	r.transfers = append(r.transfers, t)
	return nil
}

// ranks returns the node numbers of the collective's ranks, ascending: senders,
// receivers, and ranks still waited for. Without transfers they are the ends of the
// collective's flows in the telemetry.
func (r *reader) ranks() []int {
	seen := map[int]bool{}
	for _, t := range r.transfers {
		if t.step == 0 {
			continue
		}
		seen[t.source], seen[t.destination] = true, true
		if i, ok := r.nodes[t.previous]; ok && t.awaited == t.step && !r.fabric.Nodes[i].Switch && (t.previous > 0 || r.hasLinks) {
			seen[t.previous] = true
		}
	}
	if len(seen) == 0 {
		for _, p := range r.reports {
			for _, f := range p.Flows {
				if f.Collective {
					seen[r.number(f.Source)], seen[r.number(f.Destination)] = true, true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// number returns the node number of an index.
func (r *reader) number(index int) int {
	n, _ := strconv.Atoi(r.fabric.Nodes[index].Name) // the name is the number, see node
	return n
}

// steps converts the collective's transfers into step records. The lines of each source
// are ordered by begin and deduplicated; a step number that does not increase begins
// the next collective.
func steps(transfers []transfer, rankOf map[int]int32) []collective.StepRecord {
	of := map[int][]transfer{}
	for _, t := range transfers {
		if t.step != 0 {
			of[t.source] = append(of[t.source], t)
		}
	}
	var out []collective.StepRecord
	for _, source := range slices.Sorted(maps.Keys(of)) {
		out = append(out, stepsOf(of[source], rankOf)...)
	}
	return out
}

func stepsOf(lines []transfer, rankOf map[int]int32) []collective.StepRecord {
	slices.SortStableFunc(lines, func(a, b transfer) int { return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.step, b.step)) })
	var out []collective.StepRecord
	iteration := int32(0)
	var last transfer
	for i, t := range lines {
		if i > 0 && t == last {
			continue
		}
		s := collective.StepRecord{
			Iteration: iteration, Step: int32(t.step), Rank: rankOf[t.source], Peer: rankOf[t.destination],
			AwaitsRank: collective.None, Bytes: t.bytes, BeginNanos: t.begin, EndNanos: t.begin + t.duration, AloneNanos: t.alone,
		}
		if i > 0 && t.step <= last.step {
			iteration++
			s.Iteration = iteration
		}
		if i > 0 && s.Iteration == out[len(out)-1].Iteration && last.awaited == last.step {
			if rank, ok := rankOf[last.previous]; ok {
				s.AwaitsRank, s.AwaitsStep = rank, int32(last.awaited)
			}
		}
		out = append(out, s)
		last = t
	}
	return out
}

// passes is how many steps a ring collective has, if some rank finished it; otherwise
// 0. A rank of a ring always receives from the same other rank, but after the last step
// the record names a rank out of range: step k+1 has no sender, so k is the last.
func (r *reader) passes(rankOf map[int]int32) int {
	before := map[int]int{} // who sends to a rank
	to := map[int]int{}
	for _, t := range r.transfers {
		if t.step == 0 {
			continue
		}
		if was, ok := to[t.source]; ok && was != t.destination {
			return 0 // no ring
		}
		to[t.source], before[t.destination] = t.destination, t.source
	}
	steps, longest := 0, 0
	for _, t := range r.transfers {
		longest = max(longest, t.step)
		from, known := before[t.source]
		if t.step == 0 || !known || t.previous == from {
			continue
		}
		if t.awaited != t.step+1 || steps > 0 && steps != t.step {
			return 0 // not what a last step looks like
		}
		steps = t.step
	}
	if steps < longest || len(before) != len(rankOf) {
		return 0
	}
	return steps
}

// markCollective decides for every flow seen by a switch whether it belongs to the
// collective: by the ports of the transfers, and by the simulation's port.
func (r *reader) markCollective() {
	type key struct{ source, destination, sourcePort, destinationPort int }
	own, other := map[key]bool{}, map[key]bool{}
	for _, t := range r.transfers {
		k := key{r.node(t.source), r.node(t.destination), t.sourcePort, t.destinationPort}
		if t.step > 0 {
			own[k] = true
		} else {
			other[k] = true
		}
	}
	for i := range r.reports {
		for j := range r.reports[i].Flows {
			f := &r.reports[i].Flows[j]
			k := key{f.Source, f.Destination, f.SourcePort, f.DestinationPort}
			f.Collective = own[k] || f.DestinationPort == collectivePort && !other[k]
		}
	}
}
