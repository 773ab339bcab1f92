package pattern

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/giverny/giverny/simulate/packet"
)

// Without is what Explain removes from a program: puts and gets that then take no time,
// while everything that waits for them proceeds.
type Without struct {
	IntraNode bool  // between processes on the same node
	Processes []int // posted by these processes, such as a job's
}

func (w *Without) nothing() bool { return !w.IntraNode && len(w.Processes) == 0 }

func (w *Without) matches(from, to *Process) bool {
	return w.IntraNode && from.Node == to.Node || slices.Contains(w.Processes, from.ID)
}

// Explanation compares a program with and without a part of it.
type Explanation struct {
	With, Without *Report
	Removed       int      // number of puts and gets removed
	Gains         []Gain   // of the remaining puts and gets, largest first
	Put           [2]Waits // mean over these, with and without
}

// Gain is how much earlier after its post a put or get was complete.
type Gain struct {
	Call CallRef
	Gain packet.Time
}

// Waits are means over puts and gets.
type Waits struct {
	Latency, DMAWait, Contention, ControlWait packet.Time
}

// Explain predicts the program twice, the second time without a part of it, and
// compares: the experiment of the paper's figure 3.
func (x Experiment) Explain(w Without) (*Explanation, error) {
	if w.nothing() {
		return nil, errors.New("explain: nothing to take out: give intra-node puts or processes")
	}
	with, err := x.Run()
	if err != nil {
		return nil, err
	}
	x.Without = w
	without, err := x.Run()
	if err != nil {
		return nil, fmt.Errorf("without the part taken out: %w", err)
	}
	e := &Explanation{With: with, Without: without}
	return e, e.compare()
}

func (e *Explanation) compare() error {
	before := map[CallRef]*Record{}
	for i := range e.With.Records {
		r := &e.With.Records[i]
		before[CallRef{r.Process, r.Number}] = r
	}
	for i := range e.Without.Records {
		after := &e.Without.Records[i]
		ref := CallRef{after.Process, after.Number}
		r := before[ref]
		switch {
		case r == nil || r.Op != after.Op:
			return fmt.Errorf("process %d: its call %d depends on times, so the two runs cannot be compared", ref.Process, ref.Call)
		case r.Op != Put && r.Op != Get:
		case after.transfer < 0:
			e.Removed++
		default:
			e.Gains = append(e.Gains, Gain{ref, (r.Complete - r.Start) - (after.Complete - after.Start)})
			e.Put[0].add(r)
			e.Put[1].add(after)
		}
	}
	for i := range e.Put {
		e.Put[i].divide(len(e.Gains))
	}
	slices.SortStableFunc(e.Gains, func(a, b Gain) int { return cmp.Compare(b.Gain, a.Gain) })
	return nil
}

func (w *Waits) add(r *Record) {
	w.Latency += r.Complete - r.Start
	w.DMAWait += r.DMAWait
	w.Contention += r.Contention
	w.ControlWait += r.ControlWait
}

func (w *Waits) divide(n int) {
	if d := packet.Time(n); d > 0 {
		w.Latency, w.DMAWait, w.Contention, w.ControlWait = w.Latency/d, w.DMAWait/d, w.Contention/d, w.ControlWait/d
	}
}

// WriteText writes the comparison as text.
func (e *Explanation) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s on %s: %d puts and gets taken out, %d stay\n\n", e.With.Program, e.With.Model, e.Removed, len(e.Gains))
	fmt.Fprintf(out, "%-28s %14s %14s %14s\n", "us", "with", "without", "difference")
	row := func(name string, with, without packet.Time) {
		fmt.Fprintf(out, "%-28s %14.3f %14.3f %14.3f\n", name, with.Nanoseconds()/1000, without.Nanoseconds()/1000, (without-with).Nanoseconds()/1000)
	}
	a, b := &e.Put[0], &e.Put[1]
	row("end of the program", e.With.End, e.Without.End)
	row("mean latency of those", a.Latency, b.Latency)
	row("  wait for the DMA engine", a.DMAWait, b.DMAWait)
	row("  wait on links, receivers", a.Contention, b.Contention)
	row("  wait on the way back", a.ControlWait, b.ControlWait)
	for i, g := range e.Gains[:min(10, len(e.Gains))] {
		if i == 0 {
			fmt.Fprintf(out, "\nmost gained:\n")
		}
		fmt.Fprintf(out, "  process %d, call %d: %.3f us sooner\n", g.Call.Process, g.Call.Call, g.Gain.Nanoseconds()/1000)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the explanation: %w", err)
	}
	return nil
}

// WriteJSON writes the comparison as one object; times are ns.
func (e *Explanation) WriteJSON(w io.Writer) error {
	type side struct {
		End         float64 `json:"end_ns"`
		Latency     float64 `json:"mean_latency_ns"`
		DMAWait     float64 `json:"mean_dma_wait_ns"`
		Contention  float64 `json:"mean_contention_ns"`
		ControlWait float64 `json:"mean_control_wait_ns"`
	}
	of := func(rep *Report, w Waits) side {
		return side{rep.End.Nanoseconds(), w.Latency.Nanoseconds(), w.DMAWait.Nanoseconds(), w.Contention.Nanoseconds(), w.ControlWait.Nanoseconds()}
	}
	type gain struct {
		Process int     `json:"process"`
		Call    int     `json:"call"`
		Nanos   float64 `json:"sooner_ns"`
	}
	gains := []gain{}
	for _, g := range e.Gains {
		gains = append(gains, gain{g.Call.Process, g.Call.Call, g.Gain.Nanoseconds()})
	}
	err := json.NewEncoder(w).Encode(struct {
		Removed int    `json:"removed"`
		With    side   `json:"with"`
		Without side   `json:"without"`
		Gains   []gain `json:"gains"`
	}{e.Removed, of(e.With, e.Put[0]), of(e.Without, e.Put[1]), gains})
	if err != nil {
		return fmt.Errorf("write the explanation: %w", err)
	}
	return nil
}
