// Package known determines which known anomalies of a NIC a workload meets. The input
// is minimal feature sets (MFS) found by searches, as JSON, and what is known of an
// application's workload; the output, for each, is whether the workload lies within it,
// may, or cannot, and which single change would avoid it. It needs no engine: it
// compares the dimensions that both name.
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

// WorkloadConfig describes the workload of jobs by name.
type WorkloadConfig struct {
	// Patterns of job names, such as nccl-*.
	Jobs []string `yaml:"jobs,flow"`
	// A dimension and its value: qps=64, transport=RC_WRITE; for a pattern all its values: sizes=64,65536. Unlisted dimensions are unknown.
	Workload []string `yaml:"workload,flow"`
}

// Validate joins all errors.
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

// Workload is a partially known workload: the values of some dimensions.
type Workload map[string][]search.Value

// WorkloadOf returns what is known of a job by its name; nil: nothing.
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

// Verdict is the relation of a workload to an MFS.
type Verdict string

// Verdicts.
const (
	Matches   Verdict = "matches"   // every condition is met
	MayMatch  Verdict = "may_match" // none is broken, but some are unknown
	Different Verdict = "different" // a condition is broken
)

// Match is a verdict with its reasons.
type Match struct {
	Verdict Verdict  `json:"verdict"`
	Met     []string `json:"met"`     // dimensions; changing any one so that its condition breaks avoids the anomaly
	Unknown []string `json:"unknown"` // dimensions that the workload does not specify
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

// meets reports whether the values of a dimension meet its condition: all lie within the bounds for every message,
// and each range of any contains one of them.
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
