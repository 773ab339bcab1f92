// Package run measures a host with a prober and analyses it with hostping. The input is a graph, a baseline and a prober,
// the output a report. A probe that fails or hangs costs its pair, not the run. It is independent of the prober.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/giverny/giverny/hostping"
)

// Prober measures loopback paths. Probe returns an error only if the prober itself failed (it exited, exceeded the
// deadline of ctx, or answered nonsense); it must then be ready for the next call, or return the error again.
type Prober interface {
	Probe(ctx context.Context, p hostping.Probe) (hostping.ProbeResult, error)
	Utilisation(ctx context.Context) (hostping.Utilisation, error)
	Close() error
}

// Options of a run. Graph, Prober and Now are required.
type Options struct {
	Graph    hostping.Graph
	Baseline hostping.Baseline
	History  *hostping.History // of this host; the run is added; nil: none is kept
	Prober   Prober
	Now      func() time.Time // stamps the run in the history

	// Trigger is the RNIC that paused its network or dropped packets; empty: none. If set, only affinitive pairs are
	// measured (section 4.3).
	Trigger string

	LargeBytes   int           // large message of a baseline run; 0: hostping.LargeBytes. Other runs use their baseline's
	ProbeTimeout time.Duration // of each probe; 0: 10 s
	Timeout      time.Duration // of the run; the remaining pairs stay unmeasured; 0: 5 min
	Pause        time.Duration // between probes, to limit the share of an RNIC's time; 0: none
}

// Repetitions of a probe: in a run, for a baseline, and for a pair that a verdict rests on.
const (
	repeat         = 5
	baselineRepeat = 25
	confirmRepeat  = 15
)

const (
	probeTimeout = 10 * time.Second // a probe that hangs must not hang the run
	runTimeout   = 5 * time.Minute  // of all probes, since they load the host
	// maxFailures consecutive failures of the prober end the run's probing: it is gone, or the host hangs.
	maxFailures = 5
	// maxConfirmed bounds the pairs that are measured again, confirmRounds the rounds of it.
	maxConfirmed  = 16
	confirmRounds = 2
)

// ErrProber means that no pair could be measured.
var ErrProber = errors.New("no pair could be measured")

var errNoRNIC = errors.New("the graph of the host has no RNIC to probe with: giverny hostping graph shows what was found")

// Run measures and analyses a host once: all pairs if it is idle, affinitive ones if it is busy. Errors are due to
// invalid input (a graph without RNICs, a baseline of another model), to ctx, or wrap ErrProber.
func Run(ctx context.Context, o Options) (hostping.Report, error) {
	if len(o.Graph.RNICs) == 0 {
		return hostping.Report{}, errNoRNIC
	}
	if err := o.Baseline.Fits(&o.Graph); err != nil {
		return hostping.Report{}, err
	}
	o.LargeBytes = o.Baseline.LargeBytes
	s := newSession(ctx, &o)
	defer s.cancel()
	in := hostping.Input{Graph: o.Graph, Baseline: o.Baseline, Trigger: o.Trigger, History: o.History, TimeNanos: o.Now().UnixNano()}
	in.Utilisation = s.utilisation()
	busy := o.Trigger != "" || hostping.StateOf(&in.Utilisation) == hostping.Busy
	for _, path := range o.Graph.Paths {
		if !busy || slices.Contains(o.Graph.Affinitive[path.RNIC], path.Endpoint) {
			in.Measured = append(in.Measured, s.measure(path.Pair, repeat))
		}
	}
	if err := ctx.Err(); err != nil {
		return hostping.Report{}, err
	}
	if !slices.ContainsFunc(in.Measured, func(m hostping.Measured) bool { return m.OK() }) {
		return hostping.Report{}, fmt.Errorf("%w: %s to %s: %s", ErrProber, in.Measured[0].RNIC, in.Measured[0].Endpoint, in.Measured[0].Reason)
	}
	a := s.settle(&in)
	if o.History != nil {
		*o.History = o.History.Add(a.Run)
	}
	a.Report.Notes = append(a.Report.Notes, s.notes...)
	a.Report.Probes = s.sent
	return a.Report, ctx.Err()
}

// TakeBaseline measures every pair of a healthy host once, with more repetitions than a run.
func TakeBaseline(ctx context.Context, o Options) (hostping.Baseline, []hostping.Unmeasured, error) {
	if len(o.Graph.RNICs) == 0 {
		return hostping.Baseline{}, nil, errNoRNIC
	}
	o.LargeBytes = cmp.Or(o.LargeBytes, hostping.LargeBytes)
	s := newSession(ctx, &o)
	defer s.cancel()
	if u := s.utilisation(); hostping.StateOf(&u) == hostping.Busy {
		return hostping.Baseline{}, nil, errors.New("the host is busy: a baseline can only be measured while its RNICs and GPUs are idle")
	}
	var measured []hostping.Measured
	var missing []hostping.Unmeasured
	for _, path := range o.Graph.Paths {
		m := s.measure(path.Pair, baselineRepeat)
		if !m.OK() {
			missing = append(missing, hostping.Unmeasured{Pair: m.Pair, Reason: m.Reason})
		}
		measured = append(measured, m)
	}
	if err := ctx.Err(); err != nil {
		return hostping.Baseline{}, nil, err
	}
	if len(missing) == len(measured) {
		return hostping.Baseline{}, missing, fmt.Errorf("%w: %s to %s: %s", ErrProber, missing[0].RNIC, missing[0].Endpoint, missing[0].Reason)
	}
	b, err := hostping.NewBaseline(&o.Graph, o.LargeBytes, measured)
	return b, missing, err
}

// session is the state of probing in one run.
type session struct {
	o        *Options
	ctx      context.Context
	cancel   context.CancelFunc
	sent     int
	failures int // consecutive failures of the prober
	gone     string
	notes    []string
}

func newSession(ctx context.Context, o *Options) *session {
	o.ProbeTimeout, o.Timeout = cmp.Or(o.ProbeTimeout, probeTimeout), cmp.Or(o.Timeout, runTimeout)
	s := &session{o: o}
	s.ctx, s.cancel = context.WithTimeout(ctx, o.Timeout)
	return s
}

// utilisation queries the prober. Missing values are noted and count as idle.
func (s *session) utilisation() hostping.Utilisation {
	ctx, cancel := context.WithTimeout(s.ctx, s.o.ProbeTimeout)
	defer cancel()
	u, err := s.o.Prober.Utilisation(ctx)
	if err != nil {
		s.notes = append(s.notes, fmt.Sprintf("utilisation is missing or incomplete, and is taken as idle: %v", err))
	}
	return u
}

// measure sends the two probes of a pair.
func (s *session) measure(pair hostping.Pair, repeat int) hostping.Measured {
	small, reason := s.probe(hostping.Probe{Pair: pair, Bytes: hostping.SmallBytes, QPs: 1, Repeat: repeat})
	if reason != "" {
		return hostping.Measured{Pair: pair, Reason: reason}
	}
	large, reason := s.probe(hostping.Probe{Pair: pair, Bytes: s.o.LargeBytes, QPs: 1, Repeat: repeat})
	if reason != "" {
		return hostping.Measured{Pair: pair, Reason: reason}
	}
	return hostping.Measure(pair, small, large, s.o.LargeBytes)
}

// probe sends one probe with a deadline; reason is why there is no result.
func (s *session) probe(p hostping.Probe) (micros []float64, reason string) {
	switch {
	case s.gone != "":
		return nil, s.gone
	case s.ctx.Err() != nil:
		return nil, "not probed: the run took too long"
	}
	if s.sent > 0 && s.o.Pause > 0 {
		select {
		case <-time.After(s.o.Pause):
		case <-s.ctx.Done():
			return nil, "not probed: the run took too long"
		}
	}
	s.sent++
	p.ID = s.sent
	ctx, cancel := context.WithTimeout(s.ctx, s.o.ProbeTimeout)
	defer cancel()
	result, err := s.o.Prober.Probe(ctx, p)
	switch {
	case err != nil && ctx.Err() != nil:
		err = fmt.Errorf("timed out after %v", s.o.ProbeTimeout)
		fallthrough
	case err != nil:
		if s.failures++; s.failures == maxFailures {
			s.gone = fmt.Sprintf("not probed: the prober failed %d times in a row, at last: %v", maxFailures, err)
		}
		return nil, err.Error()
	}
	s.failures = 0
	if result.Status != hostping.OK {
		return nil, reasonOf(result)
	}
	return result.LatencyMicros, ""
}

func reasonOf(r hostping.ProbeResult) string {
	if r.Detail != "" {
		return fmt.Sprintf("%s: %s", r.Status, r.Detail)
	}
	return string(r.Status)
}

// settle analyses, measures again the pairs that verdicts rest on and the curves of RNICs slow to all, and analyses again.
func (s *session) settle(in *hostping.Input) hostping.Analysis {
	a := hostping.Analyse(*in)
	confirmed := map[hostping.Pair]bool{}
	for range confirmRounds {
		asked := false
		for _, pair := range a.Confirm {
			if confirmed[pair] || len(confirmed) == maxConfirmed {
				continue
			}
			confirmed[pair], asked = true, true
			if m := s.measure(pair, confirmRepeat); m.OK() {
				at := slices.IndexFunc(in.Measured, func(o hostping.Measured) bool { return o.Pair == pair })
				in.Measured[at] = m
			}
		}
		for _, pair := range a.Curves {
			asked = true
			c := hostping.Curve{Pair: pair}
			for _, p := range hostping.CurveProbes(pair, s.o.LargeBytes) {
				micros, _ := s.probe(p) // a curve that fails lowers the confidence
				c.Micros = append(c.Micros, hostping.Median(micros))
			}
			in.Curves = append(in.Curves, c)
		}
		if !asked {
			break
		}
		a = hostping.Analyse(*in)
	}
	return a
}
