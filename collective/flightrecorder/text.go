package flightrecorder

import (
	"fmt"
	"slices"
	"strings"
)

// few reports whether at most half of the ranks have a dump. One or two ranks without a
// dump may have died; if it is most of them, the dumps were not collected.
func (r *Report) few() bool { return 2*len(r.Read) <= r.Ranks }

// fewText says what can be concluded from a few dumps: where their ranks are.
func (r *Report) fewText() string {
	word, were := "dump", "was"
	if len(r.Read) > 1 {
		word, were = "dumps", "were"
	}
	said := []string{fmt.Sprintf("only the %s of %s of %d ranks %s read: which rank stopped cannot be determined; collect the dumps of the others", word, rankList(r.Read), r.Ranks, were)}
	for _, w := range r.Waits[:min(len(r.Waits), 1)] {
		said = append(said, w.text())
	}
	if len(r.Waits) == 0 {
		said = append(said, rankList(r.Read)+": no operation waits there")
	}
	return strings.Join(said, "; ")
}

// text says where the rank is.
func (w *Wait) text() string {
	return fmt.Sprintf("rank %d is in %s %d of group %s", w.Rank, w.Op, w.Seq, w.Group)
}

// explained is for how many stopped ranks the text includes the evidence.
const explained = 3

// Text is the report as sentences.
func (r *Report) Text() string {
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	for _, d := range r.Disagreements {
		verb := "disagree"
		if len(d.Ranks) == 1 {
			verb = "disagrees"
		}
		say("%s", d.text(verb))
	}
	switch {
	case len(r.Stopped) > 0:
		say("%s stopped; %d others wait, directly or indirectly", rankList(r.Stopped), len(r.Waits)-r.waiting(r.Stopped))
		for _, rank := range r.Stopped[:min(len(r.Stopped), explained)] {
			say("rank %d: %s", rank, r.evidence(rank))
		}
	case len(r.Cycle) > 0 && len(r.Stopped) == 0: // described below
	case r.few():
		say("%s", r.fewText())
	case r.Hung && len(r.Disagreements) == 0:
		say("%d ranks wait and no rank is behind: the operations themselves do not complete (network or device)", len(r.Waits))
		if len(r.Waits) > 0 {
			say("%s", r.Waits[0].text())
		}
	case len(r.Late) > 0:
		say("%s late, and no hang", rankList(r.Late))
	case !r.Hung:
		say("no rank waits: no hang")
	}
	if len(r.Cycle) > 0 {
		said = append(said, r.cycleText())
	}
	return strings.Join(append(said, r.Notes...), "; ")
}

// waiting counts the ranks that wait themselves.
func (r *Report) waiting(ranks []int) (n int) {
	for _, w := range r.Waits {
		if slices.Contains(ranks, w.Rank) {
			n++
		}
	}
	return n
}
