package scenario

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/giverny/giverny/schema"
)

// JobRecord is what a scheduler knows of a job.
type JobRecord struct {
	JobID      string   `json:"job_id"`
	Name       string   `json:"name"`
	User       string   `json:"user"`
	Nodes      []string `json:"nodes"` // devices, by rank
	StartNanos int64    `json:"start_nanos"`
	EndNanos   int64    `json:"end_nanos,omitempty"` // 0 while it runs
	State      string   `json:"state"`               // running, completed, failed
}

func (r *Runner) record(j *job) JobRecord {
	rec := JobRecord{JobID: j.ID, Name: j.Name, User: j.User, StartNanos: r.nanos(j.startedAt), State: "running"}
	for _, d := range j.place.present() {
		rec.Nodes = append(rec.Nodes, r.graph.Device(d).Name)
	}
	if !j.running {
		rec.EndNanos, rec.State = r.nanos(j.endedAt), "completed"
		if j.killed {
			rec.State = "failed"
		}
	}
	return rec
}

// Recorder writes a story down: what collectors and logs would hold, and the
// truth beside it. What is nil is not written.
type Recorder struct {
	// Day opens the Blue Waters day file of a date, "20260105", on a Gemini torus.
	Day func(date string) (io.Writer, error)
	// Jobs gets a line of JSON per JobRecord: at the start and at the end of a job.
	Jobs io.Writer
	// Failures gets a line per failure, repair and throttling: time (RFC 3339),
	// kind, device, port and detail, separated by tabs.
	Failures io.Writer
	// Truth gets a line of JSON per interval.
	Truth io.Writer

	buf []byte
}

// Record writes an interval down.
func (w *Recorder) Record(r *Runner, s *Step) error {
	if w.Day != nil {
		if err := w.recordDay(r, s.Interval); err != nil {
			return fmt.Errorf("record interval %s: %w", s.Interval, err)
		}
	}
	if w.Jobs != nil {
		for i := range s.Records {
			if err := json.NewEncoder(w.Jobs).Encode(&s.Records[i]); err != nil {
				return fmt.Errorf("record job %q: %w", s.Records[i].JobID, err)
			}
		}
	}
	if w.Failures != nil {
		if _, err := w.Failures.Write(appendFailures(nil, s.Events)); err != nil {
			return fmt.Errorf("record failures of %s: %w", s.Interval, err)
		}
	}
	if w.Truth != nil {
		if err := json.NewEncoder(w.Truth).Encode(s.Truth); err != nil {
			return fmt.Errorf("record truth of %s: %w", s.Interval, err)
		}
	}
	return nil
}

func (w *Recorder) recordDay(r *Runner, i schema.Interval) error {
	out, err := w.Day(time.Unix(0, i.StartNanos).UTC().Format("20060102"))
	if err != nil {
		return err
	}
	if w.buf, err = r.source.AppendDay(w.buf[:0], i); err != nil {
		return err
	}
	_, err = out.Write(w.buf)
	return err
}

// failureKinds are the events that a fabric's own log tells.
var failureKinds = map[schema.EventKind]bool{schema.LinkFailed: true, schema.LinkRestored: true, schema.SwitchFailed: true,
	schema.SwitchRestored: true, schema.NodeFailed: true, schema.Throttled: true}

func appendFailures(buf []byte, events []schema.Event) []byte {
	for i := range events {
		if e := &events[i]; failureKinds[e.Kind] {
			buf = fmt.Appendf(buf, "%s\t%s\t%s\t%s\t%s\n", time.Unix(0, e.TimeNanos).UTC().Format(time.RFC3339Nano), e.Kind, e.Device, e.Port, e.Detail)
		}
	}
	return buf
}
