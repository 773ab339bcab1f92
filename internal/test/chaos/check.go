package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Port is one that an agent reads; a link's values are those of the port that it leaves.
type Port struct{ Device, Port string }

// Interval is what is stored of an interval and counts: the newest revision.
type Interval struct {
	StartNanos, StoredNanos int64
	Version                 uint64    // of the graph
	Percents                []float64 // by link of that version; NaN: not measured
	Unknown                 string    // why the network's state is not known; empty if it is
}

// Tables is what is stored and announced in the end.
type Tables struct {
	Intervals []Interval        // in order of time, one of each
	Ports     map[uint64][]Port // by version of the graph, the port that each link leaves
	Doubled   []string          // what the store itself holds twice
	Announced []int64           // the starts of intervals that were announced
}

// Rules are those of the system under test.
type Rules struct {
	IntervalNanos int64
	MaxGapNanos   int64   // the longest span between two readings that gives a rate
	MinCover      float64 // the share of an interval that spans must cover
	// WaitNanos is for how long after its end an interval is waited for. Where a port was read next only after
	// that, polls were missed, and a value from the longer span may be there or not.
	WaitNanos int64
	// ClockNanos is how far an agent's clock may be off unnoticed. Readings of one that is off by more must not be
	// used; around those of one that is off by less, that agent's ports are not judged.
	ClockNanos int64
	Truth      Truth
	Owner      func(device string) (agent string)
	// FromNanos and ToNanos bound the intervals that are judged, by their starts and ends.
	FromNanos, ToNanos int64
}

// What can be wrong.
const (
	Lost      = "lost"      // an acknowledged reading is not in its interval
	Wrong     = "wrong"     // a value that no readings of the port give
	Invented  = "invented"  // a value though there are no readings for it
	Future    = "future"    // an interval that ended after it was stored
	Doubled   = "doubled"   // a row that is there more than once
	Announced = "announced" // an announced interval that is not stored
	Silent    = "silent"    // nothing was measured, and the network's state is not Unknown
)

// Problem is one thing that is wrong.
type Problem struct {
	What          string
	IntervalNanos int64
	Agent         string // where it is about a port, like the next two
	Device, Port  string
	Detail        string
}

func (p Problem) String() string {
	s := p.What
	if p.IntervalNanos != 0 {
		s += " " + time.Unix(0, p.IntervalNanos).UTC().Format(time.RFC3339Nano)
	}
	if p.Device != "" {
		s += fmt.Sprintf(" device %s port %s of %s", p.Device, p.Port, p.Agent)
	}
	return s + ": " + p.Detail
}

// Report is what the checker found.
type Report struct {
	Readings  int // acknowledged polls
	Intervals int // judged
	Values    int // that had to be there and were, exact
	Missing   int // values that were missing as they must: nothing was read
	Either    int // values that may be there or not, as a reading was not acknowledged or polls were missed, and were right
	Unjudged  int // values of agents whose clock was off by little
	Problems  []Problem
}

// Counts are the problems by what is wrong.
func (r *Report) Counts() map[string]int {
	counts := map[string]int{}
	for _, p := range r.Problems {
		counts[p.What]++
	}
	return counts
}

// String says what was lost, with the first few problems of each sort.
func (r *Report) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d polls acknowledged, %d intervals: %d values there and exact, %d missing as nothing was read, %d that may be there or not, %d not judged (clock a little off); ",
		r.Readings, r.Intervals, r.Values, r.Missing, r.Either, r.Unjudged)
	counts := r.Counts()
	if len(counts) == 0 {
		s.WriteString("lost: nothing")
		return s.String()
	}
	for i, what := range slices.Sorted(maps.Keys(counts)) {
		if i > 0 {
			s.WriteString(", ")
		}
		fmt.Fprintf(&s, "%s: %d", what, counts[what])
	}
	const shown = 8 // of each sort
	left := map[string]int{}
	for _, p := range r.Problems {
		if left[p.What]++; left[p.What] <= shown {
			s.WriteString("\n  " + p.String())
		}
	}
	return s.String()
}

// Check compares what is stored with the history. It is pure.
func Check(history []Reading, tables *Tables, rules Rules) *Report {
	c := checker{rules: rules, tables: tables, report: &Report{}, byAgent: map[string]*timeline{}}
	for _, r := range history {
		if r.Acked {
			c.report.Readings++
		}
		c.of(r.Agent).add(r, &rules)
	}
	for _, t := range c.byAgent {
		t.finish()
	}
	c.intervals()
	c.announced()
	for _, d := range tables.Doubled {
		c.problem(Problem{What: Doubled, Detail: d})
	}
	slices.SortStableFunc(c.report.Problems, func(a, b Problem) int { return cmp.Compare(a.IntervalNanos, b.IntervalNanos) })
	return c.report
}

type checker struct {
	rules   Rules
	tables  *Tables
	report  *Report
	byAgent map[string]*timeline
}

func (c *checker) of(agent string) *timeline {
	t := c.byAgent[agent]
	if t == nil {
		t = &timeline{}
		c.byAgent[agent] = t
	}
	return t
}

func (c *checker) problem(p Problem) { c.report.Problems = append(c.report.Problems, p) }

// intervals judges every interval of the span, whether it is stored or not, and of those stored outside of it
// whether they are of the future.
func (c *checker) intervals() {
	d := c.rules.IntervalNanos
	stored := map[int64]*Interval{}
	for i := range c.tables.Intervals {
		s := &c.tables.Intervals[i]
		if stored[s.StartNanos] != nil {
			c.problem(Problem{What: Doubled, IntervalNanos: s.StartNanos, Detail: "the interval is there twice"})
		}
		stored[s.StartNanos] = s
		if end := s.StartNanos + d; end > s.StoredNanos+c.ahead(s.StoredNanos) {
			c.problem(Problem{What: Future, IntervalNanos: s.StartNanos, Detail: fmt.Sprintf("stored %v before its end", time.Duration(end-s.StoredNanos))})
		}
		if s.Unknown == "" && !slices.ContainsFunc(s.Percents, func(p float64) bool { return !math.IsNaN(p) }) {
			c.problem(Problem{What: Silent, IntervalNanos: s.StartNanos, Detail: "nothing is measured, and the state is known"})
		}
	}
	var newest []Port
	for _, s := range c.tables.Intervals {
		if newest = c.tables.Ports[s.Version]; newest != nil {
			break
		}
	}
	for start := c.rules.FromNanos; start+d <= c.rules.ToNanos; start += d {
		c.report.Intervals++
		s := stored[start]
		ports := newest
		if s != nil {
			ports = c.tables.Ports[s.Version]
		}
		c.interval(start, s, ports)
	}
}

// ahead is by how much an interval may end after it is stored: not at all, unless a clock was off unnoticed.
func (c *checker) ahead(storedNanos int64) int64 {
	for _, t := range c.byAgent {
		if t.off(storedNanos) {
			return c.rules.ClockNanos
		}
	}
	return 0
}

func (c *checker) announced() {
	stored := map[int64]bool{}
	for _, s := range c.tables.Intervals {
		stored[s.StartNanos] = true
	}
	for _, start := range c.tables.Announced {
		if !stored[start] {
			c.problem(Problem{What: Announced, IntervalNanos: start, Detail: "it is not stored"})
			stored[start] = true // once
		}
	}
}

// interval judges the values of one; s is nil if it is not stored.
func (c *checker) interval(start int64, s *Interval, ports []Port) {
	expected := map[string][]outcome{}
	for link, p := range ports {
		agent := c.rules.Owner(p.Device)
		outcomes, known := expected[agent]
		if !known {
			outcomes = c.of(agent).outcomes(start, &c.rules)
			expected[agent] = outcomes
		}
		got := math.NaN()
		if s != nil && link < len(s.Percents) {
			got = s.Percents[link]
		}
		if what, detail := c.judge(p, start, got, outcomes); what != "" {
			c.problem(Problem{What: what, IntervalNanos: start, Agent: agent, Device: p.Device, Port: p.Port, Detail: detail})
		}
	}
}

// exact is the precision to which percentages are stored.
const exact = .0101

func (c *checker) judge(p Port, start int64, got float64, outcomes []outcome) (what, detail string) {
	if outcomes == nil {
		c.report.Unjudged++
		return "", ""
	}
	var want []float64
	missing := false
	for _, o := range outcomes {
		value := o.percent(p, start, &c.rules)
		if math.IsNaN(value) {
			missing = true
			if math.IsNaN(got) {
				c.count(len(outcomes), &c.report.Missing)
				return "", ""
			}
			continue
		}
		if math.IsNaN(got) && o.missedPoll(start+c.rules.IntervalNanos, &c.rules) {
			c.report.Either++
			return "", ""
		}
		if math.Abs(value-got) <= exact {
			c.count(len(outcomes), &c.report.Values)
			return "", ""
		}
		want = append(want, value)
	}
	switch {
	case math.IsNaN(got):
		return Lost, fmt.Sprintf("the readings give %.2f%%", want[0])
	case missing && len(want) == 0:
		return Invented, fmt.Sprintf("there are no readings for it, and it is stored as %.2f%%", got)
	}
	return Wrong, fmt.Sprintf("stored as %.2f%%, the readings give %s", got, percents(want))
}

// count counts a value that is as it must be, or may be.
func (c *checker) count(outcomes int, certain *int) {
	if outcomes > 1 {
		certain = &c.report.Either
	}
	*certain++
}

func percents(values []float64) string {
	var list []string
	for _, v := range values {
		list = append(list, fmt.Sprintf("%.2f%%", v))
	}
	return strings.Join(list, " or ")
}
