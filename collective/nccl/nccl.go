// Package nccl reads the records of NCCL's Inspector profiler plug-in (one JSON object
// per finished collective and rank) and finds ranks that are late to collectives,
// stopped, or left no records. The input is the files' bytes, the output the calls and
// a diagnosis. The records have the begin and end of collectives but not their steps,
// so there is no critical path. The package opens no files.
package nccl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// MaxBytes bounds one file.
const MaxBytes = 1 << 30

// maxRecords bounds the records of a job.
const maxRecords = 4 << 20

// Process identifies a rank of the job, since NCCL numbers ranks per communicator.
type Process struct {
	Host string
	PID  int64
}

// Call is one finished collective as seen by one rank.
type Call struct {
	Communicator string
	Rank, Ranks  int // in the communicator
	Process      Process
	Operation    string
	Sequence     int64
	ExecNanos    int64 // from the first kernel's begin to the last one's end
	BeginNanos   int64 // by the host's clock; 0 without verbose output
	EndNanos     int64
	Cut          bool // its file ends in the middle of the next record
}

// record is the part of the Inspector's JSON that is used.
type record struct {
	Header *struct {
		ID    string `json:"id"`
		Rank  int    `json:"rank"`
		Ranks int    `json:"n_ranks"`
	} `json:"header"`
	Metadata struct {
		Host string `json:"hostname"`
		PID  int64  `json:"pid"`
	} `json:"metadata"`
	Coll *struct {
		Name     string  `json:"coll"`
		Sequence int64   `json:"coll_sn"`
		Micros   float64 `json:"coll_exec_time_us"`
		Trace    struct {
			Start   int64 `json:"coll_start_ts"`
			Kernels []struct {
				Start int64 `json:"kernel_start_ts"`
				Stop  int64 `json:"kernel_stop_ts"`
			} `json:"kernel_events"`
		} `json:"event_trace_ts"`
	} `json:"coll_perf"`
}

// A CutError means that a file ends in the middle of a record, as when the job was
// killed. The records before it were read.
type CutError struct {
	Name string
	Line int
}

func (e *CutError) Error() string {
	return fmt.Sprintf("%s:%d: the file ends in the middle of a record", e.Name, e.Line)
}

// Read appends the collectives of one file to calls. Records without a collective
// (point-to-point, statistics) are skipped. The error is a *CutError if only the last
// record could not be read.
func Read(name string, data []byte, calls []Call) ([]Call, error) {
	had := len(calls)
	decoder := json.NewDecoder(bytes.NewReader(data))
	for whole := 0; ; whole++ {
		at := decoder.InputOffset()
		var r record
		err := decoder.Decode(&r)
		if errors.Is(err, io.EOF) {
			return calls, nil
		}
		if err == nil {
			var c Call
			if c, err = r.call(); err == nil && r.Coll != nil {
				calls = append(calls, c)
			}
		}
		if err == nil && len(calls) > maxRecords {
			err = fmt.Errorf("more than %d collectives", maxRecords)
		}
		if err != nil {
			begin := len(data) - len(bytes.TrimLeft(data[min(at, int64(len(data))):], " \t\r\n"))
			line := 1 + bytes.Count(data[:begin], []byte("\n"))
			if whole > 0 && errors.Is(err, io.ErrUnexpectedEOF) {
				if len(calls) > had {
					calls[len(calls)-1].Cut = true
				}
				return calls, &CutError{name, line}
			}
			return calls, fmt.Errorf("%s:%d: %w; remove the broken record, or remove the file to diagnose without its rank", name, line, err)
		}
	}
}

// maxRanks bounds the memory that a header can claim; the largest jobs have some 100,000 ranks.
const maxRanks = 1 << 20

func (r *record) call() (Call, error) {
	switch {
	case r.Header == nil:
		return Call{}, errors.New("no header: want records of NCCL's Inspector")
	case r.Header.Ranks < 1 || r.Header.Ranks > maxRanks || r.Header.Rank < 0 || r.Header.Rank >= r.Header.Ranks:
		return Call{}, fmt.Errorf("rank %d of %d", r.Header.Rank, r.Header.Ranks)
	case r.Coll == nil:
		return Call{}, nil
	case !(r.Coll.Micros >= 0 && r.Coll.Micros < 1e12) || math.IsNaN(r.Coll.Micros):
		return Call{}, fmt.Errorf("coll_exec_time_us %v", r.Coll.Micros)
	}
	c := Call{Communicator: r.Header.ID, Rank: r.Header.Rank, Ranks: r.Header.Ranks, Process: Process{r.Metadata.Host, r.Metadata.PID},
		Operation: r.Coll.Name, Sequence: r.Coll.Sequence, ExecNanos: int64(r.Coll.Micros * 1000)}
	for _, k := range r.Coll.Trace.Kernels {
		if k.Start > 0 && k.Start < math.MaxInt64/1000 && (c.BeginNanos == 0 || k.Start*1000 < c.BeginNanos) {
			c.BeginNanos = k.Start * 1000
		}
		if k.Stop > 0 && k.Stop < math.MaxInt64/1000 {
			c.EndNanos = max(c.EndNanos, k.Stop*1000)
		}
	}
	return c, nil
}

// IsFile reports whether a file in a folder may be the Inspector's, by name.
func IsFile(name string) bool {
	return slices.ContainsFunc([]string{".log", ".json", ".jsonl"}, func(s string) bool { return strings.HasSuffix(name, s) })
}
