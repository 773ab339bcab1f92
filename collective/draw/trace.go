package draw

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/giverny/giverny/collective"
)

// event is a Chrome trace event, with times in microseconds.
type event struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"`
	Time     float64        `json:"ts"`
	Duration float64        `json:"dur,omitempty"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	Args     map[string]any `json:"args,omitempty"`
}

// criticalProcess is the process id of the critical path; the ranks are threads of
// process 0.
const criticalProcess = 1

// Trace writes the run in the Chrome trace event format: a thread per rank with its
// transfers, and the critical path as a separate process.
func Trace(out io.Writer, run collective.Run, d collective.Diagnosis) error {
	w := bufio.NewWriter(out)
	fmt.Fprint(w, `{"displayTimeUnit":"ns","traceEvents":[`)
	t := tracer{w: w}
	t.put(event{Name: "process_name", Phase: "M", Args: map[string]any{"name": "ranks"}})
	t.put(event{Name: "process_name", Phase: "M", Process: criticalProcess, Args: map[string]any{"name": "critical path"}})
	for rank, r := range run.Ranks {
		t.put(event{Name: "thread_name", Phase: "M", Thread: rank, Args: map[string]any{"name": fmt.Sprintf("rank %d (%s)", rank, r.Node)}})
	}
	offset := d.Offsets()
	for _, s := range run.Steps {
		if s.EndNanos < s.BeginNanos {
			continue
		}
		begin := s.BeginNanos - offset[int(s.Rank)] - d.FirstNanos
		t.put(event{Name: fmt.Sprintf("step %d", s.Step), Category: "transfer", Phase: "X", Time: float64(begin) / 1e3, Duration: float64(s.EndNanos-s.BeginNanos) / 1e3,
			Thread: int(s.Rank), Args: map[string]any{"to_rank": s.Peer, "bytes": s.Bytes, "iteration": s.Iteration}})
	}
	for _, s := range d.CriticalPath {
		t.put(event{Name: fmt.Sprintf("rank %d step %d", s.Rank, s.Step), Category: string(s.Kind), Phase: "X", Time: float64(s.BeginNanos) / 1e3,
			Duration: float64(s.EndNanos-s.BeginNanos) / 1e3, Process: criticalProcess, Args: map[string]any{"kind": s.Kind, "begin_ns": s.BeginNanos, "end_ns": s.EndNanos}})
	}
	fmt.Fprintln(w, "]}")
	if t.err != nil {
		return t.err
	}
	return w.Flush()
}

// tracer writes events with commas between them.
type tracer struct {
	w   *bufio.Writer
	any bool
	err error
}

func (t *tracer) put(e event) {
	text, err := json.Marshal(e)
	if err != nil {
		t.err = err
		return
	}
	if t.any {
		fmt.Fprint(t.w, ",")
	}
	t.any = true
	fmt.Fprintf(t.w, "\n%s", text)
}
