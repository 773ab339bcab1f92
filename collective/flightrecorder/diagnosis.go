package flightrecorder

import (
	"fmt"
	"slices"

	"github.com/giverny/giverny/collective"
)

// Diagnose returns the report on a job's dumps as a collective.Diagnosis: a hang for
// each rank that stopped or disagrees. Its cost is the longest time for which a rank is
// known to have kept enqueueing after the operation that it waits in.
func Diagnose(dumps []*Dump) (collective.Diagnosis, error) {
	report, err := reportOf(dumps)
	if err != nil {
		return collective.Diagnosis{}, err
	}
	d := collective.Diagnosis{Ranks: report.Ranks, CriticalPath: []collective.Segment{}, Culprits: []collective.Culprit{},
		StoppedRanks: orEmpty(report.Stopped), LateRanks: orEmpty(report.Late), MissingRanks: orEmpty(report.Missing),
		FirstNanos: since(dumps), Notes: report.Notes, Text: report.Text()}
	cost := stood(dumps)
	for _, r := range report.Stopped {
		d.Culprits = append(d.Culprits, collective.Culprit{Class: collective.Hang, CostNanos: cost, Object: fmt.Sprintf("rank %d", r), Confidence: 0.9, Evidence: report.evidence(r)})
	}
	for _, dis := range report.Disagreements {
		said := fmt.Sprintf("%s: %s instead of %s as collective %d of group %s", rankList(dis.Ranks), dis.Enqueued, dis.Op, dis.Seq, dis.Group)
		if len(dis.Sides) > 0 {
			said = dis.text("")
		}
		d.Disagreement = append(d.Disagreement, said)
		for _, r := range dis.Ranks {
			if !slices.Contains(report.Stopped, r) && report.Hung {
				d.Culprits = append(d.Culprits, collective.Culprit{Class: collective.Hang, CostNanos: cost, Object: fmt.Sprintf("rank %d", r), Confidence: dis.confidence(),
					Evidence: fmt.Sprintf("it disagrees on collective %d of group %s", dis.Seq, dis.Group)})
			}
		}
	}
	if len(report.Cycle) > 0 && len(d.Culprits) == 0 {
		d.Culprits = append(d.Culprits, collective.Culprit{Class: collective.Hang, CostNanos: cost, Object: rankList(report.Cycle), Confidence: 0.9, Evidence: report.cycleText()})
	}
	if len(d.Culprits) == 0 && report.Hung {
		d.Culprits = append(d.Culprits, collective.Culprit{Class: collective.Hang, CostNanos: cost, Object: report.place(), Confidence: 0.5, Evidence: report.placeEvidence()})
	}
	for _, r := range report.Late {
		d.Culprits = append(d.Culprits, collective.Culprit{Class: collective.Straggler, Object: fmt.Sprintf("rank %d", r), Confidence: 0.6})
	}
	for _, s := range report.Skews {
		d.ClockOffsets = append(d.ClockOffsets, collective.ClockOffset{Rank: s.Rank, OffsetNanos: s.Nanos})
	}
	return d, nil
}

// confidence that a disagreeing rank is at fault: without a majority, half of them are
// not.
func (d *Disagreement) confidence() float64 {
	if len(d.Sides) > 0 {
		return 0.5
	}
	return 0.8
}

func orEmpty(ranks []int) []int { return append([]int{}, ranks...) }

// evidence is the operation in which others wait for a rank, or which its device does
// not complete.
func (r *Report) evidence(rank int) string {
	var waiting []int
	var first *Wait
	for i := range r.Waits {
		switch w := &r.Waits[i]; {
		case w.Rank == rank:
			return fmt.Sprintf("its %s %d of group %s does not complete, although its peers continued", w.Op, w.Seq, w.Group)
		case slices.Contains(w.On, rank):
			waiting = append(waiting, w.Rank)
			if first == nil {
				first = w
			}
		}
	}
	if first == nil {
		return "no operation of another rank waits for it"
	}
	verb := "wait"
	if len(waiting) == 1 {
		verb = "waits"
	}
	return fmt.Sprintf("%s %s for it: %s", rankList(waiting), verb, first.text())
}

// place of a hang for which no rank is to blame.
func (r *Report) place() string {
	for _, w := range r.Waits {
		if len(w.On) == 0 {
			return "group " + w.Group
		}
	}
	if len(r.Waits) > 0 && r.few() {
		return "group " + r.Waits[0].Group
	}
	return ""
}

// placeEvidence explains why no rank is blamed.
func (r *Report) placeEvidence() string {
	if r.few() {
		return r.fewText()
	}
	return "all ranks joined, but the operation does not complete"
}

// stood is the longest time from a rank's head, its oldest incomplete entry, to its last entry.
func stood(dumps []*Dump) (longest int64) {
	for _, d := range dumps {
		if i := slices.IndexFunc(d.Entries, func(e Entry) bool { return e.State != Completed }); i >= 0 && d.Entries[i].CreatedNanos > 0 {
			longest = max(longest, d.latest()-d.Entries[i].CreatedNanos)
		}
	}
	return longest
}

// since is when the first rank enqueued the operation that it waits in or, if none waits, the
// first entry; 0 if no entry says when.
func since(dumps []*Dump) int64 {
	head, entry := int64(0), int64(0)
	for _, d := range dumps {
		for _, e := range d.Entries {
			if e.CreatedNanos <= 0 {
				continue
			}
			if entry == 0 || e.CreatedNanos < entry {
				entry = e.CreatedNanos
			}
			if e.State != Completed && (head == 0 || e.CreatedNanos < head) {
				head = e.CreatedNanos
			}
		}
	}
	if head > 0 {
		return head
	}
	return entry
}
