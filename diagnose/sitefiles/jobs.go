package sitefiles

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/giverny/giverny/collectors/jobs"
	"github.com/giverny/giverny/diagnose/offline"
	"github.com/giverny/giverny/internal/decompress"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
)

// listOfJobs matches a key in the output of squeue --json, sacct --json and slurmrestd, or of kubectl.
var listOfJobs = regexp.MustCompile(`"(jobs|apiVersion)"\s*:`)

// csvHeader matches the header of a CSV of jobs, with any delimiter.
var csvHeader = regexp.MustCompile(`(?i)job_id"?\s*[,;\t]|[,;\t]\s*"?job_id`)

// squeueTable and podsTable match the heads of the plain output of squeue and kubectl.
var (
	squeueTable = regexp.MustCompile(`^\s*JOBID\s`)
	podsTable   = regexp.MustCompile(`^(NAMESPACE\s+)?NAME\s+READY\s`)
)

// isJobLines reports whether a file of jobs with this head has a JSON object per line, or nothing that another parser
// would understand.
func isJobLines(head []byte) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	line, _, whole := bytes.Cut(head, []byte("\n"))
	switch line = bytes.TrimSpace(line); {
	case bytes.HasPrefix(head, []byte("{")):
		return !listOfJobs.Match(line) && (whole && len(line) > 1 || bytes.Contains(line, []byte(`"job_id"`)))
	case bytes.Contains(line, []byte("JobID")):
		return false
	}
	return !csvHeader.Match(line)
}

// jobsFile reads a file of jobs. It returns text if that has the format of giverny diagnose: a line of JSON per job. The other
// formats of the jobs feed (output of sacct, squeue, slurmrestd and kubectl, and CSV) are parsed; times without a zone are in
// the given one. Omissions are reported.
func jobsFile(in *offline.File, zone *time.Location, report func(line string)) (text *offline.File, rows *offline.Rows[schema.Job], err error) {
	buffered, head, err := plainText(in)
	name := in.Name
	switch {
	case err != nil:
		return nil, nil, err
	case len(head) == 0:
		report(name + ": empty, no jobs")
		return &offline.File{Name: name, Reader: buffered, Plain: true}, nil, nil
	case squeueTable.Match(head):
		return nil, nil, fmt.Errorf("%s:1: this is squeue's table, which has no start times: want the output of `squeue --json --states=all`", name)
	case podsTable.Match(head):
		return nil, nil, fmt.Errorf("%s:1: this is kubectl's table, which has no start times: want the output of `kubectl get pods -A -o json`", name)
	case isJobLines(head):
		return &offline.File{Name: name, Reader: buffered, Plain: true}, nil, nil
	}
	list, err := jobs.Read(buffered, name, jobs.Options{Zone: zone})
	if err != nil {
		return nil, nil, err
	}
	for _, f := range list.Faults {
		report(fmt.Sprintf("%s: %s: left out", f.Where, f.Detail))
	}
	rows, waiting := jobRows(&list, name, report)
	note := fmt.Sprintf("%s: %s, not counting %s and %s", name, plural.Count(len(rows.Rows), "job", "jobs"),
		plural.Count(waiting, "pending job", "pending jobs"), plural.Count(list.Steps, "job step", "job steps"))
	if len(list.Rows) == 0 && list.Steps > 0 {
		note += ": the lines of the jobs themselves are missing; run sacct with --allocations"
	}
	report(note)
	return nil, rows, nil
}

// plainText returns the decompressed file and its head.
func plainText(in *offline.File) (text *bufio.Reader, head []byte, err error) {
	plain, err := decompress.Reader(in.Name, in.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	text = bufio.NewReaderSize(plain, 64<<10)
	if head, err = text.Peek(4 << 10); len(head) == 0 && err != io.EOF {
		return nil, nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	return text, head, nil // the first read returns the error again
}

// jobRows returns the jobs that have begun, and counts those that wait.
func jobRows(list *jobs.List, name string, report func(line string)) (rows *offline.Rows[schema.Job], waiting int) {
	rows = &offline.Rows[schema.Job]{Name: name}
	if !list.Lines() {
		rows.Unit = "job"
	}
	for i, row := range list.Rows {
		switch job := &row.Job; {
		case row.Phase == jobs.Waiting:
			waiting++
		case job.End != 0 && job.End < job.Start:
			report(fmt.Sprintf("%s: job %q ends at %s, before it starts at %s: left out", list.Where(row.Place), job.ID, job.End, job.Start))
		default:
			rows.Add(row.Job, cmp.Or(row.Place, i+1)) // the jobs of pods have no places
		}
	}
	return rows, waiting
}
