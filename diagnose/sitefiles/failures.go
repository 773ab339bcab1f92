package sitefiles

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/giverny/giverny/collectors/failures"
	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/diagnose/offline"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
)

// isFailureLines reports whether a file of failures with this head has tab-separated fields on each line.
func isFailureLines(head []byte) bool {
	for line := range bytes.Lines(bytes.TrimPrefix(head, []byte("\ufeff"))) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return bytes.Contains(line, []byte("\t"))
		}
	}
	return true
}

// failuresFile reads a file of failures. It returns text if that has the format of giverny diagnose: tab-separated fields on
// each line. The other formats of the failures feed (CSV and logs) are parsed. Times without a zone are in the given one; those
// without a year are the latest before the file was written. Omissions are reported.
func failuresFile(in *offline.File, zone *time.Location, report func(line string)) (text *offline.File, rows *offline.Rows[schema.Failure], err error) {
	buffered, head, err := plainText(in)
	if err != nil {
		return nil, nil, err
	}
	name := in.Name
	if isFailureLines(head) {
		return &offline.File{Name: name, Reader: buffered, Plain: true}, nil, nil
	}
	parser, err := failures.NewParser(failures.Options{Zone: zone, Reference: failures.Reference(in.Name, time.Now()), Name: name})
	if err != nil {
		return nil, nil, err
	}
	rows, others, err := failureRows(parser, buffered, name, report)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	case len(rows.Rows) == 0 && others == 0:
		return nil, nil, fmt.Errorf("%s: no line has a known format: want time, kind, device, port and detail, separated by tabs, commas or semicolons, or a log of opensm, ibdiagnet, netwatch or syslog", name)
	}
	report(fmt.Sprintf("%s: %s, %s", name, plural.Count(len(rows.Rows), "failure", "failures"), plural.Count(others, "other line", "other lines")))
	return nil, rows, nil
}

// maxLogLine bounds a log line, in bytes.
const maxLogLine = 1 << 20

// failureRows returns the failures of a log, and counts the other lines in known formats.
func failureRows(parser *failures.Parser, log io.Reader, name string, report func(line string)) (failed *offline.Rows[schema.Failure], others int, err error) {
	failed = &offline.Rows[schema.Failure]{Name: name}
	scan := bufio.NewScanner(log)
	scan.Buffer(nil, maxLogLine)
	for at := 1; scan.Scan() && scan.Err() == nil; at++ { // not the part of a line before an error of reading
		var rows feeds.Rows
		parser.Line(strings.TrimPrefix(scan.Text(), "\ufeff"), &rows)
		for _, f := range rows.Faults {
			report(fmt.Sprintf("%s:%d: %s: left out", name, at, f.Detail))
		}
		for _, f := range rows.Failures {
			failed.Add(f, at)
		}
		others += int(rows.Dropped[feeds.NotAFailure])
	}
	if errors.Is(scan.Err(), bufio.ErrTooLong) {
		return nil, 0, fmt.Errorf("a line is longer than %d bytes", maxLogLine)
	}
	return failed, others, scan.Err()
}
