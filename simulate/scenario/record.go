package scenario

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/giverny/giverny/schema"
)

// jobNow is a scheduler's current view of a job.
func (r *Runner) jobNow(j *job) schema.Job {
	now := schema.Job{Fabric: r.graph.Fabric(), ID: j.ID, Name: j.Name, User: j.User, Start: schema.Instant(r.nanos(j.startedAt)), State: "running"}
	for _, d := range j.place.present() {
		now.Nodes = append(now.Nodes, r.graph.Device(d).Name)
	}
	if !j.running {
		now.End, now.State = schema.Instant(r.nanos(j.endedAt)), "completed"
		if j.killed {
			now.State = "failed"
		}
	}
	return now
}

// JobTraffic returns the interval's traffic in the format of feeds.
func (s *Step) JobTraffic(fabric string) []schema.JobTraffic {
	rows := make([]schema.JobTraffic, len(s.Traffic))
	for i, t := range s.Traffic {
		rows[i] = schema.JobTraffic{Fabric: fabric, JobID: t.JobID, Time: schema.Instant(s.Interval.StartNanos),
			Read: &t.ReadBytes, Write: &t.WriteBytes, RDMARead: &t.RDMAReadBytes, RDMAWrite: &t.RDMAWriteBytes}
	}
	return rows
}

// Recorder records a story: the data of collectors and logs, and the ground truth. Nil
// fields are not written.
type Recorder struct {
	// Day opens the Blue Waters day file of a date, "20260105", for a Gemini torus.
	Day func(date string) (io.Writer, error)
	// Jobs gets a schema.Job as a line of JSON at the start and at the end of a job.
	Jobs io.Writer
	// Failures gets a line per schema.Failure: time (RFC 3339), kind, device, port
	// and detail, separated by tabs. The kind of congestion protection is
	// "protection".
	Failures io.Writer
	// Traffic gets a CSV: a header, then a row per interval and job.
	Traffic io.Writer
	// Truth gets a line of JSON per interval.
	Truth io.Writer

	buf     []byte
	started bool
}

// Record records an interval.
func (w *Recorder) Record(r *Runner, s *Step) error {
	if w.Day != nil {
		if err := w.recordDay(r, s.Interval); err != nil {
			return fmt.Errorf("record interval %s: %w", s.Interval, err)
		}
	}
	if w.Jobs != nil {
		for i := range s.Jobs {
			if err := json.NewEncoder(w.Jobs).Encode(&s.Jobs[i]); err != nil {
				return fmt.Errorf("record job %q: %w", s.Jobs[i].ID, err)
			}
		}
	}
	if w.Failures != nil {
		w.buf = appendFailures(w.buf[:0], s.Failures)
		if _, err := w.Failures.Write(w.buf); err != nil {
			return fmt.Errorf("record failures of %s: %w", s.Interval, err)
		}
	}
	if w.Traffic != nil {
		if err := w.recordTraffic(s); err != nil {
			return fmt.Errorf("record traffic of %s: %w", s.Interval, err)
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

func (w *Recorder) recordTraffic(s *Step) error {
	w.buf = w.buf[:0]
	if !w.started {
		w.buf = append(w.buf, "time,job_id,read_bytes,write_bytes,rdma_read_bytes,rdma_write_bytes\n"...)
		w.started = true
	}
	for i := range s.Traffic {
		t := &s.Traffic[i]
		w.buf = fmt.Appendf(w.buf, "%s,%s", schema.Instant(s.Interval.StartNanos), t.JobID)
		for _, bytes := range [...]float64{t.ReadBytes, t.WriteBytes, t.RDMAReadBytes, t.RDMAWriteBytes} {
			w.buf = strconv.AppendFloat(append(w.buf, ','), bytes, 'f', 0, 64)
		}
		w.buf = append(w.buf, '\n')
	}
	_, err := w.Traffic.Write(w.buf)
	return err
}

func appendFailures(buf []byte, failures []schema.Failure) []byte {
	for i := range failures {
		f := &failures[i]
		kind := string(f.Kind)
		if f.Kind == schema.Throttled {
			kind = "protection"
		}
		buf = fmt.Appendf(buf, "%s\t%s\t%s\t%s\t%s\n", f.Time, kind, f.Device, f.Port, f.Detail)
	}
	return buf
}
