package bench

import (
	"fmt"
	"math/rand/v2"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/simulated"
)

// Tally counts the outcomes of one row's trials.
type Tally struct {
	Trials  int
	Named   int // all faults named, at the right place
	Right   int // same, and nothing else named
	Wrong   []string
	Samples []Sample // the verdicts' confidences
	Probes  int      // maximum number of probes in a run
}

func (t *Tally) add(s *Subject, o *Outcome) {
	t.Trials++
	if o.Named == len(o.Faults) {
		t.Named++
	}
	if o.Right {
		t.Right++
	} else {
		t.Wrong = append(t.Wrong, s.Name+" "+o.String())
	}
	t.Samples = append(t.Samples, o.Confidence...)
	t.Probes = max(t.Probes, o.Report.Probes)
}

// random returns the random source of a trial.
func random(row, trial int) *rand.Rand { return rand.New(rand.NewPCG(uint64(trial), uint64(row))) }

// Row numbers make the rows' trials differ.
const (
	rowHealthy = 100 + iota
	rowPairs
	rowSlight
	rowBusy
	rowBusyHealthy
)

// Single runs one kind of fault on each host.
func Single(subjects []*Subject, kind hostping.Bottleneck, trials int) (t Tally, err error) {
	for i := range trials {
		for k, s := range subjects {
			r := random(k, i)
			f, ok := s.Draw(kind, r)
			if !ok {
				continue
			}
			var o Outcome
			if kind == hostping.MemoryChannelFlapping {
				o, err = s.PlayFlapping(r.Uint64(), f, flappings[r.IntN(len(flappings))])
			} else {
				o, err = s.Play(r.Uint64(), []simulated.Fault{f}, nil)
			}
			if err != nil {
				return t, err
			}
			t.add(s, &o)
		}
	}
	return t, nil
}

// flappings are sequences of runs with a bad memory channel in some; the last is scored.
var flappings = [][]bool{{false, true, false}, {true, false}, {false, true, false, true}, {true, true, false, true}, {true, false, false, true, false}}

// Healthy runs hosts without faults: any verdict is a false alarm.
func Healthy(subjects []*Subject, trials int) (t Tally, err error) {
	for i := range trials {
		for _, s := range subjects {
			o, err := s.Play(random(rowHealthy, i).Uint64(), nil, nil)
			if err != nil {
				return t, err
			}
			t.add(s, &o)
		}
	}
	return t, nil
}

// Pairs runs two faults at once, chosen so that each is visible in the presence of the other.
func Pairs(subjects []*Subject, trials int) (t Tally, err error) {
	for i := range trials {
		for _, s := range subjects {
			r := random(rowPairs, i)
			var faults []simulated.Fault
			for len(faults) < 2 {
				f, ok := s.Draw(Kinds[r.IntN(len(Kinds))], r)
				if !ok || f.Bottleneck == hostping.MemoryChannelFlapping || len(faults) == 1 && !s.Separable(&faults[0], &f) {
					continue
				}
				faults = append(faults, f)
			}
			o, err := s.Play(r.Uint64(), faults, nil)
			if err != nil {
				return t, err
			}
			t.add(s, &o)
		}
	}
	return t, nil
}

// Slight runs links that carry 84 to 97% of the line rate: below the threshold, so no verdict is right.
func Slight(subjects []*Subject, trials int) (t Tally, err error) {
	kinds := []hostping.Bottleneck{hostping.RNICPCIeFailure, hostping.GPUPCIeFailure, hostping.MemoryChannelFailure, hostping.InterSocketFailure, hostping.RootPortFailure, hostping.TxWindowTooSmall}
	for i := range trials {
		for _, s := range subjects {
			r := random(rowSlight, i)
			f, _ := s.Draw(kinds[r.IntN(len(kinds))], r)
			if f.Link == "" && f.RNIC == "" {
				continue
			}
			f.Share = 0.84 + 0.13*r.Float64()
			o, err := s.Play(r.Uint64(), []simulated.Fault{f}, nil)
			if err != nil {
				return t, err
			}
			o.Faults, o.Named, o.Right = nil, 0, len(o.Report.Verdicts) == 0
			for k := range o.Confidence {
				o.Confidence[k].Right = false
			}
			t.add(s, &o)
		}
	}
	return t, nil
}

// BusyKinds are the kinds that the paper finds on hosts with service traffic (Fig. 10).
var BusyKinds = []hostping.Bottleneck{hostping.GPUPCIeFailure, hostping.MemoryChannelFailure, hostping.InterSocketOverloaded, hostping.MemoryChannelOverloaded}

// Busy runs a fault of a kind (none if empty) while one or two RNICs have service traffic of 20 to 50%. Faults are drawn
// so that the rest of a busy RNIC's capacity would reveal them.
func Busy(subjects []*Subject, kind hostping.Bottleneck, trials int) (t Tally, err error) {
	for i := range trials {
		for k, s := range subjects {
			r := random(rowBusy+10*k, i)
			busy := map[string]float64{}
			for range 1 + r.IntN(2) {
				busy[s.Graph.RNICs[r.IntN(len(s.Graph.RNICs))].ID] = 0.2 + 0.3*r.Float64()
			}
			var faults []simulated.Fault
			if kind != "" {
				f, ok := s.Draw(kind, r)
				f.Share = 0.2 + 0.15*r.Float64()
				if !ok || !s.visible(&f) || !s.probed(&f) {
					continue
				}
				faults = append(faults, f)
			}
			o, err := s.Play(r.Uint64(), faults, busy)
			if err != nil {
				return t, err
			}
			t.add(s, &o)
		}
	}
	return t, nil
}

// probed reports whether an affinitive pair crosses a link: others are not probed on a busy host.
func (s *Subject) probed(f *simulated.Fault) bool {
	for _, p := range s.Graph.Paths {
		for _, l := range p.Links {
			for _, e := range s.Graph.Affinitive[p.RNIC] {
				if l == f.Link && e == p.Endpoint {
					return true
				}
			}
		}
	}
	return false
}

// Calibration groups verdicts by confidence, with each group's mean confidence and share of right ones.
func Calibration(samples []Sample, edges []float64) []string {
	var rows []string
	for i := range len(edges) - 1 {
		n, right, sum := 0, 0, 0.
		for _, s := range samples {
			if s.Confidence >= edges[i] && s.Confidence < edges[i+1] {
				n++
				sum += s.Confidence
				if s.Right {
					right++
				}
			}
		}
		if n > 0 {
			rows = append(rows, fmt.Sprintf("| %.2f to %.2f | %d | %.3f | %.3f |", edges[i], edges[i+1], n, sum/float64(n), float64(right)/float64(n)))
		}
	}
	return rows
}
