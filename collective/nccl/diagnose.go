package nccl

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/internal/plural"
)

// A rank is late if it arrives later than the median of the ranks by both this share of
// the collective's time and this many ns, in half of the communicator's collectives.
const (
	lateShare = 0.1
	lateNanos = 1_000_000
)

// key is one collective.
type key struct {
	communicator string
	sequence     int64
}

// job groups the calls of a job.
type job struct {
	ranks       map[Process]int
	size        int
	collectives map[key][]Call
	keys        []key
	doubled     int
}

// Diagnose finds late and stopped ranks. Ranks are those of the largest communicator,
// followed by processes outside it. All ranks leave a collective together, so the one
// that arrived last has the shortest time in it, regardless of the clocks.
func Diagnose(calls []Call) (collective.Diagnosis, error) {
	if len(calls) == 0 {
		return collective.Diagnosis{}, errors.New("no finished collectives; want the complete JSON files of NCCL's Inspector")
	}
	j := sorted(calls)
	d := collective.Diagnosis{Ranks: j.size, CriticalPath: []collective.Segment{}, Culprits: []collective.Culprit{}, StoppedRanks: []int{}, LateRanks: []int{}, MissingRanks: []int{}}
	seen := map[int]bool{}
	for _, r := range j.ranks {
		seen[r] = true
	}
	for r := range j.size {
		if !seen[r] {
			d.MissingRanks = append(d.MissingRanks, r)
		}
	}
	if j.doubled > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%d records were duplicates", j.doubled))
	}
	j.disagree(&d)
	j.late(&d)
	j.stopped(&d)
	d.Text = describe(&d)
	return d, nil
}

// sorted numbers the processes and orders the collectives.
func sorted(calls []Call) *job {
	j := &job{ranks: map[Process]int{}, collectives: map[key][]Call{}}
	world := calls[0]
	for _, c := range calls {
		if c.Ranks > world.Ranks || c.Ranks == world.Ranks && c.Communicator < world.Communicator {
			world = c
		}
	}
	j.size = world.Ranks
	for _, c := range calls {
		if c.Communicator == world.Communicator {
			j.ranks[c.Process] = c.Rank
		}
	}
	var rest []Process
	for _, c := range calls {
		if _, known := j.ranks[c.Process]; !known {
			j.ranks[c.Process] = 0 // numbered below
			rest = append(rest, c.Process)
		}
	}
	slices.SortFunc(rest, func(a, b Process) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID)) })
	for _, p := range rest {
		j.ranks[p] = j.size
		j.size++
	}
	type of struct {
		key
		rank int
	}
	there := make(map[of]bool, len(calls))
	for _, c := range calls {
		k := key{c.Communicator, c.Sequence}
		if there[of{k, c.Rank}] {
			j.doubled++
			continue
		}
		there[of{k, c.Rank}] = true
		if j.collectives[k] == nil {
			j.keys = append(j.keys, k)
		}
		j.collectives[k] = append(j.collectives[k], c)
	}
	slices.SortFunc(j.keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.communicator, b.communicator), cmp.Compare(a.sequence, b.sequence))
	})
	return j
}

// late blames the ranks that the others waited for. The cost is the time by which the
// others would have been faster.
func (j *job) late(d *collective.Diagnosis) {
	cost, times, all := map[int]int64{}, map[int]int{}, map[int]int{}
	for _, k := range j.keys {
		calls := j.collectives[k]
		if len(calls) < 2 {
			continue
		}
		var exec []int64
		for _, c := range calls {
			exec = append(exec, c.ExecNanos)
		}
		slices.Sort(exec)
		middle := exec[len(exec)/2]
		for _, c := range calls {
			rank := j.ranks[c.Process]
			all[rank]++
			if late := middle - c.ExecNanos; late > lateNanos && float64(late) > lateShare*float64(middle) {
				times[rank]++
				cost[rank] += late
			}
		}
	}
	for rank := range j.size {
		if times[rank] == 0 || 2*times[rank] < all[rank] {
			continue
		}
		d.LateRanks = append(d.LateRanks, rank)
		d.Culprits = append(d.Culprits, collective.Culprit{Class: collective.Straggler, CostNanos: cost[rank], Object: fmt.Sprintf("rank %d", rank), Confidence: 0.8,
			Evidence: fmt.Sprintf("in %d of %d collectives the others waited for it", times[rank], all[rank])})
	}
	slices.SortStableFunc(d.Culprits, func(a, b collective.Culprit) int { return cmp.Compare(b.CostNanos, a.CostNanos) })
}

// stopped finds the ranks whose last collective is behind their communicator's by at
// least two: one may have been running when the records were written. Whether a rank
// with a truncated file went on is unknown.
func (j *job) stopped(d *collective.Diagnosis) {
	last := map[string]map[int]int64{} // by communicator and rank of the job
	cut := map[int]bool{}
	for _, k := range j.keys {
		for _, c := range j.collectives[k] {
			cut[j.ranks[c.Process]] = cut[j.ranks[c.Process]] || c.Cut
			if last[k.communicator] == nil {
				last[k.communicator] = map[int]int64{}
			}
			last[k.communicator][j.ranks[c.Process]] = c.Sequence
		}
	}
	for _, ranks := range last {
		most := int64(0)
		for _, sequence := range ranks {
			most = max(most, sequence)
		}
		for rank, sequence := range ranks {
			if most-sequence >= 2 && !cut[rank] {
				d.StoppedRanks = append(d.StoppedRanks, rank)
			}
		}
	}
	slices.Sort(d.StoppedRanks)
	d.StoppedRanks = slices.Compact(d.StoppedRanks)
	stopped := make([]collective.Culprit, 0, len(d.StoppedRanks)+len(d.Culprits))
	for _, rank := range slices.Backward(d.StoppedRanks) {
		stopped = append(stopped, collective.Culprit{Class: collective.Hang, Object: fmt.Sprintf("rank %d", rank), Confidence: 0.6, Evidence: "its last finished collective is behind its communicator's"})
	}
	d.Culprits = append(stopped, d.Culprits...)
}

// disagree compares the operations of one collective.
func (j *job) disagree(d *collective.Diagnosis) {
	said := map[string]bool{}
	for _, k := range j.keys {
		calls := j.collectives[k]
		odd := slices.IndexFunc(calls, func(c Call) bool { return c.Operation != calls[0].Operation })
		if odd > 0 && !said[k.communicator] {
			said[k.communicator] = true
			d.Disagreement = append(d.Disagreement, fmt.Sprintf("ranks %d and %d: %s and %s as collective %d of communicator %s",
				j.ranks[calls[0].Process], j.ranks[calls[odd].Process], calls[0].Operation, calls[odd].Operation, k.sequence, k.communicator))
		}
	}
}

func describe(d *collective.Diagnosis) string {
	said := slices.Clone(d.Disagreement)
	for _, c := range d.Culprits {
		text := fmt.Sprintf("%s: %s, %s", c.Object, c.Class, c.Evidence)
		if c.CostNanos > 0 {
			text += fmt.Sprintf(", %.3f ms", float64(c.CostNanos)/1e6)
		}
		said = append(said, text)
	}
	if len(d.MissingRanks) > 0 {
		names := make([]string, len(d.MissingRanks))
		for i, rank := range d.MissingRanks {
			names[i] = fmt.Sprintf("rank %d", rank)
		}
		said = append(said, "no records of "+plural.First(names, 16, ", "))
	}
	if len(said) == 0 {
		return "no rank is late, and none stopped"
	}
	return strings.Join(append(said, d.Notes...), "; ")
}
