// Package bench scores a diagnosis of collectives on simulated incidents with known ground
// truth (simulate/incident). The input is incidents and a diagnosis function; the output is
// the rates of correct classes and culprits, of false blame, the cost error, and the bytes
// of telemetry against rigid polling. It is independent of the diagnosis.
package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/detect"
	"github.com/giverny/giverny/simulate/incident"
)

// Specs returns n incidents, cycling through the classes and, for each, the algorithms,
// with seeds from first on.
func Specs(n int, first uint64, chunk int64) []incident.Spec {
	classes, algorithms := incident.Classes(), incident.Algorithms()
	var specs []incident.Spec
	for i := range n {
		specs = append(specs, incident.Spec{Class: classes[i%len(classes)], Algorithm: algorithms[i/len(classes)%len(algorithms)], ChunkBytes: chunk, Seed: first + uint64(i)})
	}
	return specs
}

// Case is an incident as recorded with one mode of detection.
type Case struct {
	Truth incident.Truth
	Run   collective.Run
	Bytes map[detect.Mode]int64 // telemetry bytes
}

// Play simulates an incident. The records come from the first mode; the others only
// contribute their bytes.
func Play(spec incident.Spec, modes ...detect.Mode) (Case, error) {
	in, err := incident.New(spec)
	if err != nil {
		return Case{}, err
	}
	c := Case{Bytes: map[detect.Mode]int64{}}
	for i, mode := range modes {
		cfg := detect.DefaultConfig()
		cfg.Mode = mode
		result, err := in.Simulate(cfg)
		if err != nil {
			return c, err
		}
		c.Bytes[mode] = result.TelemetryBytes
		if i > 0 {
			continue
		}
		c.Run = result.Run
		if c.Truth, err = in.Truth(result); err != nil {
			return c, err
		}
	}
	return c, nil
}

// minShare is the least share of the makespan that a culprit must cost to count as blamed.
const minShare = 0.01

// Verdict compares one diagnosis with the truth.
type Verdict struct {
	Class   bool // the first culprit's class is right; for a healthy run, there is none
	Culprit bool // the first culprit's flow, link or host is in the truth
	Blamed  int  // number of culprits above minShare, plus the first
	False   int  // number of these that are not in the truth
	Cost    float64
	HasCost bool // Cost is the relative error of the culprits' total cost
}

// Judge scores a diagnosis.
func Judge(truth *incident.Truth, d *collective.Diagnosis) Verdict {
	if truth.Class == incident.Healthy {
		v := Verdict{Class: len(d.Culprits) == 0, Culprit: len(d.Culprits) == 0, Blamed: len(d.Culprits), False: len(d.Culprits)}
		return v
	}
	v := Verdict{}
	var guilty int64
	for i := range d.Culprits {
		c := &d.Culprits[i]
		if i > 0 && float64(c.CostNanos) < minShare*float64(d.MakespanNanos) {
			continue
		}
		v.Blamed++
		if matches(truth, c) || slices.Contains(truth.Flows, c.Flow) {
			guilty += c.CostNanos
		} else {
			v.False++
		}
	}
	if len(d.Culprits) > 0 {
		class := d.Culprits[0].Class
		v.Class = class == truth.Class || class == truth.Also
		v.Culprit = matches(truth, &d.Culprits[0])
	}
	if truth.CostNanos > 0 {
		v.HasCost = true
		v.Cost = math.Abs(float64(d.MakespanNanos-d.ExpectedNanos-truth.CostNanos)) / float64(truth.CostNanos)
	}
	return v
}

// matches reports whether a culprit is the injected one: by flow if the truth has
// flows, by place, or by rank.
func matches(truth *incident.Truth, c *collective.Culprit) bool {
	if truth.Class == collective.Deadlock {
		return !slices.ContainsFunc(truth.Objects, func(port string) bool { return !names(c.Object, port) })
	}
	if c.Flow != "" && len(truth.Flows) > 0 {
		return slices.Contains(truth.Flows, c.Flow)
	}
	return slices.ContainsFunc(truth.Objects, func(object string) bool { return names(c.Object, object) }) ||
		slices.ContainsFunc(truth.Ranks, func(rank int) bool { return names(c.Object, fmt.Sprintf("rank %d", rank)) })
}

// names reports whether a text contains a place as a whole: port 1 does not match port 12.
func names(text, place string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], place)
		if i < 0 {
			return false
		}
		end := at + i + len(place)
		if end == len(text) || text[end] < '0' || text[end] > '9' {
			return true
		}
		at = end
	}
}

// Score sums verdicts.
type Score struct {
	Cases, Class, Culprit int
	FalseCases            int // cases with a culprit that is not in the truth
	Blamed, False         int
	CostErrors            []float64
	Bytes                 map[detect.Mode]int64
}

// Add counts one case.
func (s *Score) Add(c *Case, v Verdict) {
	s.Cases++
	s.Class += one(v.Class)
	s.Culprit += one(v.Culprit)
	s.FalseCases += one(v.False > 0)
	s.Blamed += v.Blamed
	s.False += v.False
	if v.HasCost {
		s.CostErrors = append(s.CostErrors, v.Cost)
	}
	if s.Bytes == nil {
		s.Bytes = map[detect.Mode]int64{}
	}
	for mode, bytes := range c.Bytes {
		s.Bytes[mode] += bytes
	}
}

// Merge adds another score.
func (s *Score) Merge(o *Score) {
	s.Cases, s.Class, s.Culprit, s.FalseCases = s.Cases+o.Cases, s.Class+o.Class, s.Culprit+o.Culprit, s.FalseCases+o.FalseCases
	s.Blamed, s.False = s.Blamed+o.Blamed, s.False+o.False
	s.CostErrors = append(s.CostErrors, o.CostErrors...)
	if s.Bytes == nil {
		s.Bytes = map[detect.Mode]int64{}
	}
	for mode, bytes := range o.Bytes {
		s.Bytes[mode] += bytes
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Percent returns n as a percentage of the cases.
func (s *Score) Percent(n int) float64 { return 100 * float64(n) / float64(max(1, s.Cases)) }

// FalsePercent is the percentage of blamed culprits that are not in the truth.
func (s *Score) FalsePercent() float64 { return 100 * float64(s.False) / float64(max(1, s.Blamed)) }

// CostError is the median relative error of the costs.
func (s *Score) CostError() float64 {
	if len(s.CostErrors) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s.CostErrors))
	return sorted[len(sorted)/2]
}
