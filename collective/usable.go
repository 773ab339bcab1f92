package collective

import (
	"slices"

	"github.com/giverny/giverny/collective/network"
)

// usable returns the run without references to nodes that its fabric lacks, and without
// invalid times and numbers: readers check their own format, but a Run may come from
// anywhere. If all is valid it returns the run itself. left is how many links, flows,
// paths, pauses and reports were dropped.
func usable(run *Run) (kept *Run, left int) {
	nodes := 0
	if run.Fabric != nil {
		nodes = len(run.Fabric.Nodes)
	}
	has := func(node int) bool { return node >= 0 && node < nodes }
	out := *run
	if run.Fabric != nil {
		if links := keep(run.Fabric.Links, func(l *network.Link) bool {
			return has(l.A) && has(l.B) && l.A != l.B && l.APort > 0 && l.BPort > 0 && l.BitsPerSecond >= 0
		}); len(links) != len(run.Fabric.Links) {
			out.Fabric = &network.Fabric{Nodes: run.Fabric.Nodes, Links: links}
		}
	}
	if slices.ContainsFunc(run.Ranks, func(r Rank) bool { return r.Host != None && !has(r.Host) }) {
		out.Ranks = slices.Clone(run.Ranks)
		for i := range out.Ranks {
			if !has(out.Ranks[i].Host) {
				out.Ranks[i].Host = None
			}
		}
	}
	member := func(rank int) bool { return rank >= 0 && rank < len(run.Ranks) }
	out.Communicators = keep(run.Communicators, func(c *Communicator) bool {
		return !slices.ContainsFunc(c.Members, func(r int) bool { return !member(r) })
	})
	if len(out.Communicators) != len(run.Communicators) {
		out.Communicators = nil // their indices would no longer match
	}
	out.Flows = keep(run.Flows, func(f *Flow) bool { return has(f.Source) && has(f.Destination) && f.Bytes >= 0 })
	out.Paths = keep(run.Paths, func(p *Path) bool {
		return has(p.Source) && has(p.Destination) && !slices.ContainsFunc(p.Ports, func(q network.Port) bool { return !has(q.Node) })
	})
	out.Pauses = keep(run.Pauses, func(p *Pause) bool { return has(p.Node) && p.Port > 0 })
	out.Telemetry = keep(run.Telemetry, func(p *PortReport) bool {
		return has(p.Switch) && p.Port > 0 && p.In >= 0 && min(p.Packets, p.QueueSum, p.Paused, p.MeterBytes) >= 0 && !slices.ContainsFunc(p.Flows, func(f FlowReport) bool {
			return !has(f.Source) || !has(f.Destination) || min(f.Packets, f.QueueSum, f.Paused, f.MinSeq) < 0 || f.MaxSeq < f.MinSeq
		})
	})
	left = len(run.Flows) - len(out.Flows) + len(run.Paths) - len(out.Paths) + len(run.Pauses) - len(out.Pauses) + len(run.Telemetry) - len(out.Telemetry)
	if run.Fabric != nil {
		left += len(run.Fabric.Links) - len(out.Fabric.Links)
	}
	return &out, left
}

// keep returns the wanted elements; the slice itself if all are.
func keep[T any](list []T, wanted func(*T) bool) []T {
	for i := range list {
		if wanted(&list[i]) {
			continue
		}
		out := slices.Clone(list[:i])
		for j := i + 1; j < len(list); j++ {
			if wanted(&list[j]) {
				out = append(out, list[j])
			}
		}
		return out
	}
	return list
}
