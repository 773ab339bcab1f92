package sitefiles

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/giverny/giverny/collectors/jobs"
	"github.com/giverny/giverny/diagnose/offline"
	"github.com/giverny/giverny/internal/decompress"
	"github.com/giverny/giverny/internal/plural"
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

// jobsFile converts a file of jobs to the format of giverny diagnose: a line of JSON per job. The other formats of the jobs
// feed (output of sacct, squeue, slurmrestd and kubectl, and CSV) are converted; times without a zone are in the given one.
// Omissions are reported.
func jobsFile(in *offline.File, zone *time.Location, report func(line string)) (*offline.File, error) {
	buffered, head, err := plainText(in)
	name := in.Name
	switch {
	case err != nil:
		return nil, err
	case len(head) == 0:
		report(name + ": empty, no jobs")
		return &offline.File{Name: name, Reader: buffered, Plain: true}, nil
	case squeueTable.Match(head):
		return nil, fmt.Errorf("%s:1: this is squeue's table, which has no start times: want the output of `squeue --json --states=all`", name)
	case podsTable.Match(head):
		return nil, fmt.Errorf("%s:1: this is kubectl's table, which has no start times: want the output of `kubectl get pods -A -o json`", name)
	case isJobLines(head):
		return &offline.File{Name: name, Reader: buffered, Plain: true}, nil
	}
	list, err := jobs.Read(buffered, name, jobs.Options{Zone: zone})
	if err != nil {
		return nil, err
	}
	for _, f := range list.Faults {
		report(fmt.Sprintf("%s: %s: left out", f.Where, f.Detail))
	}
	text, n, waiting, err := jobLines(&list, report)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	note := fmt.Sprintf("%s: %s, not counting %s and %s", name, plural.Count(n, "job", "jobs"),
		plural.Count(waiting, "pending job", "pending jobs"), plural.Count(list.Steps, "job step", "job steps"))
	if len(list.Rows) == 0 && list.Steps > 0 {
		note += ": the lines of the jobs themselves are missing; run sacct with --allocations"
	}
	report(note)
	file := &offline.File{Name: name, Reader: text, Plain: true}
	if !list.Lines() {
		file.Unit = "job"
	}
	return file, nil
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

// jobLines writes a line of JSON for each job that has begun, padded with empty lines to the line number it had in the file, so
// that errors name the right place.
func jobLines(list *jobs.List, report func(line string)) (text io.Reader, n, waiting int, err error) {
	var lines bytes.Buffer
	out, at := json.NewEncoder(&lines), 1
	for _, row := range list.Rows {
		switch job := &row.Job; {
		case row.Phase == jobs.Waiting:
			waiting++
			continue
		case job.End != 0 && job.End < job.Start:
			report(fmt.Sprintf("%s: job %q ends at %s, before it starts at %s: left out", list.Where(row.Place), job.ID, job.End, job.Start))
			continue
		}
		for ; at < row.Place; at++ {
			lines.WriteByte('\n')
		}
		if err := out.Encode(row.Job); err != nil {
			return nil, 0, 0, err
		}
		at++
		n++
	}
	return &lines, n, waiting, nil
}
