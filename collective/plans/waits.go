package plans

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/internal/plural"
)

// maxPlanned bounds the size of plans used to fill in waits: a ring of 1,448 ranks.
const maxPlanned = 1 << 22

// FillWaits fills in missing waits of the records from the plan of their communicator,
// if it names its operation and algorithm. If records do not fit the plan, the run gets
// a note. If they have steps that the plan lacks, nothing is filled in and the waits
// are derived from the records.
func FillWaits(run *collective.Run) {
	for number := range run.Communicators {
		c := &run.Communicators[number]
		if c.Operation == "" || c.Algorithm == "" || c.Algorithm == collective.Custom {
			continue
		}
		records, unsaid := extentOf(run, int32(number))
		if !unsaid {
			continue
		}
		shape := Shape{Operation: c.Operation, Algorithm: c.Algorithm, Members: len(c.Members), Chunks: records.chunks, Channels: records.channels}
		if c.Algorithm == collective.DoubleTree {
			shape.Channels = (records.channels + 1) / 2 // each tree of the two has its own
		}
		note := func(format string, args ...any) {
			run.Notes = append(run.Notes, fmt.Sprintf("communicator %s: ", cmp.Or(c.Name, fmt.Sprint(number)))+fmt.Sprintf(format, args...))
		}
		if size := shape.Members * shape.Members; size > maxPlanned || shape.Chunks > maxPlanned/max(2*size, 1) || shape.Channels > maxPlanned/max(2*size*shape.Chunks, 1) {
			note("%s by %s of %d ranks, %d chunks and %d channels is too large for a plan: waits are found from the records", c.Operation, c.Algorithm, shape.Members, shape.Chunks, shape.Channels)
			continue
		}
		plan, err := Decompose(shape)
		if err != nil {
			note("waits are found from the records: %v", err)
			continue
		}
		foreign, missing := plan.fit(run.Steps, c, int32(number), records.iterations-records.from)
		if len(foreign) > 0 {
			note("steps that %s by %s does not have (%s): waits are found from the records", c.Operation, c.Algorithm, counts(foreign))
			continue
		}
		plan.Await(run.Steps, *c, int32(number))
		if len(missing) > 0 {
			note("steps of %s by %s that are not in the records: %s", c.Operation, c.Algorithm, counts(missing))
		}
	}
}

// extent is the extent of the numbers of some records.
type extent struct {
	from, iterations int // the first iteration, and the end of them
	chunks, channels int
}

// recordKey identifies a record within its communicator.
type recordKey struct{ iteration, step, chunk, channel, rank int32 }

func keyOf(r *collective.StepRecord) recordKey {
	return recordKey{r.Iteration, r.Step, r.Chunk, r.Channel, r.Rank}
}

// extentOf returns the extent of the numbers of a communicator's records, and whether
// some do not say what they await.
func extentOf(run *collective.Run, communicator int32) (e extent, unsaid bool) {
	for i := range run.Steps {
		r := &run.Steps[i]
		if r.Communicator != communicator || r.Chunk < 0 || r.Channel < 0 || r.Iteration < 0 {
			continue
		}
		if e.iterations == 0 {
			e.from = int(r.Iteration)
		}
		e.from, e.iterations = min(e.from, int(r.Iteration)), max(e.iterations, int(r.Iteration)+1)
		e.chunks, e.channels = max(e.chunks, int(r.Chunk)+1), max(e.channels, int(r.Channel)+1)
		unsaid = unsaid || r.AwaitsStep == 0
	}
	return e, unsaid
}

// fit counts, by rank, the records that the plan lacks, and the planned steps over that
// many iterations that have no record.
func (p *Plan) fit(steps []collective.StepRecord, c *collective.Communicator, number int32, iterations int) (foreign, missing map[int]int) {
	index := p.index()
	member := memberOf(c)
	foreign, missing = map[int]int{}, map[int]int{}
	seen := map[recordKey]bool{}
	for m, rank := range c.Members {
		if planned := iterations * len(p.Members[m]); planned > 0 {
			missing[rank] = planned
		}
	}
	for i := range steps {
		r := &steps[i]
		if r.Communicator != number || seen[keyOf(r)] {
			continue
		}
		m, ok := member[r.Rank]
		s, planned := index.planned[key{m, r.Step, r.Chunk, r.Channel}]
		if !ok || !planned || r.Peer >= 0 && int32(c.Members[s.Peer]) != r.Peer {
			foreign[int(r.Rank)]++
			continue
		}
		seen[keyOf(r)] = true
		if missing[int(r.Rank)]--; missing[int(r.Rank)] == 0 {
			delete(missing, int(r.Rank))
		}
	}
	return foreign, missing
}

// counts lists up to eight ranks with their numbers.
func counts(of map[int]int) string {
	var parts []string
	for _, rank := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("rank %d: %d", rank, of[rank]))
	}
	return plural.First(parts, 8, ", ")
}
