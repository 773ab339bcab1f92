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

// Port is a port read by an agent; a link's values are those of the port that it leaves.
type Port struct{ Device, Port string }

// Interval is the newest stored revision of an interval.
type Interval struct {
	StartNanos, StoredNanos int64
	Version                 uint64    // of the graph
	Percents                []float64 // by link of that version; NaN: not measured
	Unknown                 string    // why the network's state is unknown; empty if it is known
}

// Tables is what is stored and announced at the end.
type Tables struct {
	Intervals []Interval        // in order of time, one of each
	Ports     map[uint64][]Port // by version of the graph, the port that each link leaves
	Doubled   []string          // duplicates in the store itself
	Announced []int64           // the starts of intervals that were announced
}

// Rules are the parameters of the system under test.
type Rules struct {
	IntervalNanos int64
	MaxGapNanos   int64   // the longest time between two readings that still gives a rate
	MinCover      float64 // the share of an interval that rates must cover
	// WaitNanos is how long the system waits for readings after the end of an interval. If a port's next
	// reading is later, polls were missed, and the value may be present or absent.
	WaitNanos int64
	// ClockNanos is the largest undetected clock error of an agent. Readings with a larger error must not be used;
	// around readings with a smaller one, that agent's ports are not judged.
	ClockNanos int64
	Truth      Truth
	Owner      func(device string) (agent string)
	// FromNanos and ToNanos bound the judged intervals, by their starts and ends.
	FromNanos, ToNanos int64
}

// Kinds of problems.
const (
	Lost      = "lost"      // an acknowledged reading is not in its interval
	Wrong     = "wrong"     // a value that cannot result from the port's readings
	Invented  = "invented"  // a value without readings
	Future    = "future"    // an interval that ended after it was stored
	Doubled   = "doubled"   // a duplicate row
	Announced = "announced" // an announced interval that is not stored
	Silent    = "silent"    // nothing was measured, but the network's state is not Unknown
)

// Problem is a violation found by the checker.
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

// Report is the checker's result.
type Report struct {
	Readings  int // acknowledged polls
	Intervals int // judged
	Values    int // present and exact, as required
	Missing   int // absent, as required: nothing was read
	Either    int // optional, since a reading was unacknowledged or polls were missed, and correct
	Unjudged  int // of agents with a small clock error
	Problems  []Problem
}

// Counts counts the problems by kind.
func (r *Report) Counts() map[string]int {
	counts := map[string]int{}
	for _, p := range r.Problems {
		counts[p.What]++
	}
	return counts
}

// String summarises the report, with the first problems of each kind.
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
	const shown = 8 // per kind
	left := map[string]int{}
	for _, p := range r.Problems {
		if left[p.What]++; left[p.What] <= shown {
			s.WriteString("\n  " + p.String())
		}
	}
	return s.String()
}

// Check compares what is stored with the history.
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

// intervals judges every interval of the span, stored or not, and whether stored intervals outside of it are
// in the future.
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

// ahead is how much later than its storage time an interval may end: 0, unless a clock had an undetected error.
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
			stored[start] = true // report it once
		}
	}
}

// interval judges the values of an interval; s is nil if it is not stored.
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

// exact is the precision of stored percentages.
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

// count counts a correct value.
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
