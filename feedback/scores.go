package feedback

import (
	"github.com/giverny/giverny/feedback/policy"
	"github.com/giverny/giverny/feedback/reconcile"
	"github.com/giverny/giverny/feedback/score"
	"github.com/giverny/giverny/schema"
)

// scoresFor translates scores to a scheduler's node names; a node with several adapters
// gets the highest of their scores.
func scoresFor(set *score.Set, names nodeMap) reconcile.Scores {
	s := reconcile.Scores{Fabric: set.Fabric, AtNanos: int64(set.End), Unknown: set.Unknown != nil}
	seen := map[string]bool{}
	for i := range set.Nodes { // the highest come first
		n := &set.Nodes[i]
		name := names.nodeOf(n.Node)
		if seen[name] {
			continue
		}
		seen[name] = true
		s.Nodes = append(s.Nodes, policy.Score{Node: name, Score: n.Score, Reason: n.Reason, Fabric: set.Fabric})
	}
	return s
}

// regionOfNode has, by device, the region that its score came from. A region whose readings stopped stays, as its nodes
// have no score of it any more.
type regionOfNode map[string]uint64

func (was regionOfNode) next(set *score.Set, silent []schema.SilentRegion) regionOfNode {
	now := make(regionOfNode, len(set.Nodes))
	for i := range set.Nodes {
		now[set.Nodes[i].Node] = set.Nodes[i].Region
	}
	since := sinceOf(silent)
	for node, region := range was {
		if _, is := since[region]; is {
			now[node] = region
		}
	}
	return now
}

// held lists the nodes of silent regions under a scheduler's names.
func (was regionOfNode) held(silent []schema.SilentRegion, names nodeMap) (list []reconcile.Held) {
	since := sinceOf(silent)
	for node, region := range was {
		if at, is := since[region]; is {
			list = append(list, reconcile.Held{Node: names.nodeOf(node), SinceNanos: int64(at)})
		}
	}
	return list
}

func sinceOf(silent []schema.SilentRegion) map[uint64]schema.Instant {
	since := make(map[uint64]schema.Instant, len(silent))
	for _, s := range silent {
		since[s.ID] = max(since[s.ID], s.Since)
	}
	return since
}
