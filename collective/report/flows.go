package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/network"
)

// waysOf returns the flows between nodes, by ranks, each from its first to its last step.
func waysOf(run collective.Run, d collective.Diagnosis) map[[2]int]*Way {
	offset, ways := d.Offsets(), map[[2]int]*Way{}
	for i := range run.Steps {
		s := &run.Steps[i]
		from, to := int(s.Rank), int(s.Peer)
		if from < 0 || to < 0 || max(from, to) >= len(run.Ranks) || run.Ranks[from].Node == run.Ranks[to].Node {
			continue
		}
		begin := s.BeginNanos - offset[from] - d.FirstNanos
		end := max(s.EndNanos-offset[from]-d.FirstNanos, begin)
		if s.EndNanos == 0 {
			end = max(d.MakespanNanos, begin)
		}
		w := ways[[2]int{from, to}]
		if w == nil {
			w = &Way{From: from, To: to, BeginNanos: begin, EndNanos: end}
			ways[[2]int{from, to}] = w
		}
		w.BeginNanos, w.EndNanos = min(w.BeginNanos, begin), max(w.EndNanos, end)
	}
	return ways
}

// flows fills in the ways and their losses, with a note on what was omitted.
func (r *Report) flows(run collective.Run, d collective.Diagnosis) {
	ways, lost := waysOf(run, d), map[[2]int]int64{}
	for _, l := range d.Losses {
		lost[[2]int{l.Rank, l.Peer}] += l.Nanos
	}
	order := slices.SortedFunc(maps.Keys(ways), func(a, b [2]int) int {
		return cmp.Or(cmp.Compare(lost[b], lost[a]), cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	via := recordedWays(run)
	number := map[[2]int]int{}
	r.Ways, r.Losses = []Way{}, []Loss{}
	for _, pair := range order[:min(len(order), maxWays)] {
		w := *ways[pair]
		w.Via = via[[2]int{run.Ranks[w.From].Host, run.Ranks[w.To].Host}]
		number[pair] = len(r.Ways)
		r.Ways = append(r.Ways, w)
	}
	r.Omitted = len(order) - len(r.Ways)
	for _, l := range d.Losses {
		if w, ok := number[[2]int{l.Rank, l.Peer}]; ok && l.Nanos > 0 {
			r.Losses = append(r.Losses, Loss{Way: w, Culprit: l.Culprit, BeginNanos: l.BeginNanos, EndNanos: l.EndNanos, Nanos: l.Nanos})
		}
	}
	r.Losses = merged(r.Losses)
	left := int64(0)
	for _, l := range d.Losses {
		left += max(0, l.Nanos)
	}
	for _, l := range r.Losses {
		left -= l.Nanos
	}
	if left > 0 {
		r.Diagnosis.Notes = append(r.Diagnosis.Notes, fmt.Sprintf("losses of %.3f ms were omitted from the report: the costs given for regions are lower bounds", float64(left)/1e6))
	}
}

// merged bounds the losses: if there are too many, it merges those of one flow and
// culprit within a time window.
func merged(losses []Loss) []Loss {
	const second = int64(1e9)
	for _, width := range []int64{second, 10 * second, 60 * second, 600 * second, 3600 * second, 1 << 62} {
		if len(losses) <= maxLosses {
			break
		}
		type key struct {
			way, culprit int
			at           int64
		}
		at := map[key]int{}
		var out []Loss
		for _, l := range losses {
			k := key{l.Way, l.Culprit, l.BeginNanos / width}
			i, ok := at[k]
			if !ok {
				at[k] = len(out)
				out = append(out, l)
				continue
			}
			o := &out[i]
			o.BeginNanos, o.EndNanos, o.Nanos = min(o.BeginNanos, l.BeginNanos), max(o.EndNanos, l.EndNanos), o.Nanos+l.Nanos
		}
		losses = out
	}
	if len(losses) > maxLosses {
		slices.SortStableFunc(losses, func(a, b Loss) int { return cmp.Compare(b.Nanos, a.Nanos) })
		losses = losses[:maxLosses]
	}
	return losses
}

// recordedWays returns the nodes of the paths that hosts traced, by the two hosts.
func recordedWays(run collective.Run) map[[2]int][]string {
	if run.Fabric == nil {
		return nil
	}
	peer := map[network.Port]int{}
	for _, l := range run.Fabric.Links {
		peer[network.Port{Node: l.A, Port: l.APort}] = l.B
		peer[network.Port{Node: l.B, Port: l.BPort}] = l.A
	}
	out := map[[2]int][]string{}
	for _, p := range run.Paths {
		at, nodes := p.Source, []string{}
		for range len(p.Ports) + 1 {
			if at < 0 || at >= len(run.Fabric.Nodes) {
				break
			}
			nodes = append(nodes, run.Fabric.Nodes[at].Name)
			i := slices.IndexFunc(p.Ports, func(q network.Port) bool { return q.Node == at })
			if i < 0 {
				break
			}
			next, ok := peer[p.Ports[i]]
			if !ok {
				break
			}
			at = next
		}
		if at == p.Destination && len(nodes) > 0 {
			out[[2]int{p.Source, p.Destination}] = nodes
		}
	}
	return out
}
