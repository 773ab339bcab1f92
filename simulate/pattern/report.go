package pattern

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/giverny/giverny/simulate/packet"
	"github.com/giverny/giverny/topology"
)

// Record is a call with its times. A put arrives when its last byte is in the peer's
// memory and is complete when the poster is notified; a get arrives when it is
// complete; for other calls both are the time at which the call returned.
type Record struct {
	Process int
	Number  int // among the calls of its process, from 0
	Call
	Start, Arrive, Complete packet.Time // Never: has not happened

	// Of a put or get, the parts of its time: alone, and the waits caused by others:
	// for the DMA engine, on links and at the receiver, and on the way back.
	Alone, DMAWait, Contention, ControlWait packet.Time

	transfer packet.TransferID // or -1
	dmaStart packet.Time
}

// Report is a predicted run.
type Report struct {
	Program, Model, Fabric string
	End                    packet.Time // the last call's return or the last transfer's completion
	Records                []Record    // in the order of the file, or by process
	Collisions             []Collision // by time lost, largest first
	LinkPackets            uint64      // of the simulation, as a measure of its work
}

// Experiment is a program on a fabric, with optional faults.
type Experiment struct {
	Graph   *topology.Graph
	Model   Model
	Program *Program
	Faults  []packet.Fault
	Without Without // what takes no time

	// Sample, if not nil, is called every Every, and at the end, with the simulation,
	// whose counters it may read.
	Sample func(*packet.Sim)
	Every  packet.Time
}

// Run predicts the program. If the program cannot end, the error names what each
// process waits for.
func (x Experiment) Run() (*Report, error) {
	if x.Sample != nil && x.Every <= 0 {
		return nil, fmt.Errorf("sample every %v ns: want more than 0", x.Every.Nanoseconds())
	}
	r, err := newRun(x.Graph, &x.Model, x.Program)
	if err != nil {
		return nil, err
	}
	defer r.close()
	r.without = x.Without
	for _, f := range x.Faults {
		if err := r.sim.Inject(f); err != nil {
			return nil, err
		}
	}
	watch := newWatch(r)
	if err := r.execute(x.Every, x.Sample); err != nil {
		return nil, fmt.Errorf("program %q on %s: %w", x.Program.Name, x.Model.Name, err)
	}
	return r.report(x.Graph, x.Program, watch)
}

func (r *run) report(g *topology.Graph, p *Program, watch *watch) (*Report, error) {
	rep := &Report{Program: p.Name, Model: r.model.Name, Fabric: g.Fabric(), LinkPackets: r.sim.LinkPackets()}
	for i := range r.records {
		rec := &r.records[i]
		if rec.transfer >= 0 {
			t := r.sim.Times(rec.transfer)
			rec.Arrive, rec.Complete, rec.dmaStart = t.Arrived, t.Completed, t.DMAStart
		}
		if rec.Complete != packet.Never {
			rep.End = max(rep.End, rec.Complete)
		}
	}
	if err := r.breakDown(g); err != nil {
		return nil, err
	}
	rep.Collisions = watch.collisions(r)
	for _, m := range r.members {
		for _, i := range m.records {
			rep.Records = append(rep.Records, r.records[i])
		}
	}
	if p.rows {
		slices.SortStableFunc(rep.Records, func(a, b Record) int { return a.Row - b.Row })
	}
	return rep, nil
}

// WriteJSON writes one object per call, one per line.
func (rep *Report) WriteJSON(w io.Writer) error {
	out := bufio.NewWriter(w)
	var line []byte
	for i := range rep.Records {
		c := &rep.Records[i]
		line = fmt.Appendf(line[:0], `{"process":%d,"op":%q,"peer":%d,"bytes":%d,"start_ns":`, c.Process, c.Op.String(), c.Peer, c.Bytes)
		line = appendNanos(line, c.Start)
		line = appendNanos(append(line, `,"arrive_ns":`...), c.Arrive)
		line = appendNanos(append(line, `,"complete_ns":`...), c.Complete)
		line = append(line, "}\n"...)
		if _, err := out.Write(line); err != nil {
			return fmt.Errorf("write the calls: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the calls: %w", err)
	}
	return nil
}

// appendNanos appends a time in ns, rounded to 0.1 ps, or null.
func appendNanos(b []byte, t packet.Time) []byte {
	if t == packet.Never {
		return append(b, "null"...)
	}
	const unit = packet.Nanosecond / 10000
	t = (t + unit/2) / unit
	return strconv.AppendFloat(b, float64(t)/10000, 'f', -1, 64)
}

// Waits returns the means over all puts and gets that ended.
func (rep *Report) Waits() Waits {
	var w Waits
	n := 0
	for i := range rep.Records {
		if r := &rep.Records[i]; r.transfer >= 0 && r.Complete != packet.Never {
			w.add(r)
			n++
		}
	}
	w.divide(n)
	return w
}

// WriteText writes the breakdown and the worst collisions as text.
func (rep *Report) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	us := func(t packet.Time) float64 { return t.Nanoseconds() / 1000 }
	mean := rep.Waits()
	fmt.Fprintf(out, "%s on %s, model %s: %.3f us, %d calls\n", rep.Program, rep.Fabric, rep.Model, us(rep.End), len(rep.Records))
	fmt.Fprintf(out, "a put or get takes %.3f us on average, of which it waits %.3f for the DMA engine, %.3f on links and at receivers, %.3f on the way back\n",
		us(mean.Latency), us(mean.DMAWait), us(mean.Contention), us(mean.ControlWait))
	for i, c := range rep.Collisions[:min(20, len(rep.Collisions))] {
		if i == 0 {
			fmt.Fprintf(out, "\ncollisions that cost most, of %d (waits of all packets of a call, added up):\n", len(rep.Collisions))
		}
		fmt.Fprintf(out, "  %12.3f us  process %d, call %d waited for process %d, call %d (%s)\n",
			us(c.Waited), c.Waiting.Process, c.Waiting.Call, c.Holder.Process, c.Holder.Call, c.Place)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
