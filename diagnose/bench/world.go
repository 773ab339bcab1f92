package bench

import (
	"fmt"

	"github.com/giverny/giverny/topology"
)

// Played is an incident that can be played to a judge.
type Played interface {
	Graph() *topology.Graph
	// Play passes every interval to the judge and returns its verdicts on regions of Low and above, with the truth.
	Play(Judge) ([]Verdict, error)
	String() string
}

// World draws incidents from one simulator.
type World struct {
	Sets     []string
	Kinds    []Kind
	Incident func(set string, kind Kind, seed int64) (Played, error)
}

// Fluid is the world of this package.
func Fluid() World {
	sets := map[string]Set{}
	w := World{Kinds: Kinds()}
	for _, s := range Sets() {
		sets[s.Name], w.Sets = s, append(w.Sets, s.Name)
	}
	w.Incident = func(set string, kind Kind, seed int64) (Played, error) { return sets[set].Incident(kind, seed) }
	return w
}

func (in *Incident) String() string {
	return fmt.Sprintf("%s %s seed %d %s onset %v", in.Set, in.Kind, in.Seed, in.Topology, in.Onset)
}
