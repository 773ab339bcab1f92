// Package known says which known anomalies of a NIC a workload meets. In go the
// minimal feature sets (MFS) that searches found, as JSON, and what is known of an
// application's workload; out comes, for each, whether the workload lies within it, may
// do so, or cannot, and which single change would keep it out. It needs no engine: it
// compares what both name.
package known

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/search"
)

// WorkloadConfig says what the jobs of a name do.
type WorkloadConfig struct {
	// Names of jobs, patterns such as nccl-*.
	Jobs []string `yaml:"jobs,flow"`
	// A dimension and its value: qps=64, transport=RC_WRITE; of a pattern all its values: sizes=64,65536. What is not listed is not known.
	Workload []string `yaml:"workload,flow"`
}

// Validate joins all faults.
func (c *WorkloadConfig) Validate() error {
	var f faults.List
	f.Check(len(c.Jobs) > 0, "jobs", "empty; name at least one")
	for i, p := range c.Jobs {
		_, err := path.Match(p, "")
		f.Check(err == nil && p != "", fmt.Sprintf("jobs.%d", i), "%q is not a pattern", p)
	}
	f.Check(len(c.Workload) > 0, "workload", "empty; give dimensions such as qps=64")
	for i, text := range c.Workload {
		if _, _, err := parseDimension(text); err != nil {
			f.Add(fmt.Sprintf("workload.%d", i), "%v", err)
		}
	}
	return f.Err()
}

// Workload is what is known of one: the values of some dimensions.
type Workload map[string][]search.Value

// WorkloadOf is what is known of the jobs of a name; nil: nothing.
func WorkloadOf(list []WorkloadConfig, job string) Workload {
	for i := range list {
		if !slices.ContainsFunc(list[i].Jobs, func(p string) bool { ok, err := path.Match(p, job); return ok && err == nil }) {
			continue
		}
		w := Workload{}
		for _, text := range list[i].Workload {
			if name, values, err := parseDimension(text); err == nil { // validated
				w[name] = values
			}
		}
		return w
	}
	return nil
}

func parseDimension(text string) (name string, values []search.Value, err error) {
	name, list, ok := strings.Cut(text, "=")
	if name = strings.TrimSpace(name); !ok || name == "" || list == "" {
		return "", nil, fmt.Errorf("%q: want a dimension and its value, such as qps=64", text)
	}
	for part := range strings.SplitSeq(list, ",") {
		part = strings.TrimSpace(part)
		var number json.Number
		var v search.Value
		if json.Unmarshal([]byte(part), &number) == nil && json.Unmarshal([]byte(part), &v) == nil {
			values = append(values, v)
			continue
		}
		values = append(values, search.Text(part))
	}
	return name, values, nil
}

// Verdict says how a workload lies to an MFS.
type Verdict string

// Verdicts.
const (
	Matches   Verdict = "matches"   // every condition is met
	MayMatch  Verdict = "may_match" // none is broken, and some cannot be told
	Different Verdict = "different" // a condition is broken
)

// Match is a verdict with its grounds.
type Match struct {
	Verdict Verdict  `json:"verdict"`
	Met     []string `json:"met"`     // dimensions; to change any one of them so that its condition breaks keeps the anomaly away
	Unknown []string `json:"unknown"` // dimensions of which the workload says nothing
	Broken  []string `json:"broken"`
}

// Compare compares a workload with an MFS.
func Compare(mfs json.RawMessage, w Workload) (m Match, err error) {
	var conditions map[string]search.Condition
	if err := json.Unmarshal(mfs, &conditions); err != nil {
		return m, fmt.Errorf("mfs: %w", err)
	}
	m = Match{Matches, []string{}, []string{}, []string{}}
	for _, name := range slices.Sorted(maps.Keys(conditions)) {
		c := conditions[name]
		values, said := w[name]
		switch {
		case !said:
			m.Unknown = append(m.Unknown, name)
		case meets(&c, values):
			m.Met = append(m.Met, name)
		default:
			m.Broken = append(m.Broken, name)
		}
	}
	switch {
	case len(m.Broken) > 0:
		m.Verdict = Different
	case len(m.Unknown) > 0:
		m.Verdict = MayMatch
	}
	return m, nil
}

// meets says whether the values of a dimension meet its condition: every one lies within what holds for all, and for
// each range of any there is one within.
func meets(c *search.Condition, values []search.Value) bool {
	all := c.Bounds
	if c.All != nil {
		all = *c.All
	}
	for _, v := range values {
		if len(c.In) > 0 && !slices.ContainsFunc(c.In, func(in search.Value) bool { return in.String() == v.String() }) || !within(all, v) {
			return false
		}
	}
	for _, b := range c.Any {
		if !slices.ContainsFunc(values, func(v search.Value) bool { return within(b, v) }) {
			return false
		}
	}
	return true
}

func within(b search.Bounds, v search.Value) bool {
	beyond := func(bound *search.Value, sign float64) bool {
		if bound == nil || bound.String() == v.String() {
			return false
		}
		limit, limited := bound.Quantity()
		n, ok := v.Quantity()
		return !ok || !limited || sign*n > sign*limit
	}
	return !beyond(b.Min, -1) && !beyond(b.Max, 1)
}
