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

// failuresFile converts a file of failures to the format of giverny diagnose: tab-separated fields on each line. The other
// formats of the failures feed (CSV and logs) are converted line by line, keeping line numbers. Times without a zone are in the
// given one; those without a year are the latest before the file was written. Omissions are reported.
func failuresFile(in *offline.File, zone *time.Location, report func(line string)) (*offline.File, error) {
	buffered, head, err := plainText(in)
	if err != nil {
		return nil, err
	}
	name := in.Name
	if isFailureLines(head) {
		return &offline.File{Name: name, Reader: buffered, Plain: true}, nil
	}
	parser, err := failures.NewParser(failures.Options{Zone: zone, Reference: failures.Reference(in.Name, time.Now()), Name: name})
	if err != nil {
		return nil, err
	}
	text, n, others, err := failureLines(parser, buffered, name, report)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case n == 0 && others == 0:
		return nil, fmt.Errorf("%s: no line has a known format: want time, kind, device, port and detail, separated by tabs, commas or semicolons, or a log of opensm, ibdiagnet, netwatch or syslog", name)
	}
	report(fmt.Sprintf("%s: %s, %s", name, plural.Count(n, "failure", "failures"), plural.Count(others, "other line", "other lines")))
	return &offline.File{Name: name, Reader: text, Plain: true}, nil
}

// maxLogLine bounds a log line, in bytes.
const maxLogLine = 1 << 20

// failureLines writes the fields of each failure of a log on the line number it had, and counts them and the other lines in
// known formats.
func failureLines(parser *failures.Parser, log io.Reader, name string, report func(line string)) (text io.Reader, n, others int, err error) {
	var lines bytes.Buffer
	scan := bufio.NewScanner(log)
	scan.Buffer(nil, maxLogLine)
	for at := 1; scan.Scan() && scan.Err() == nil; at++ { // not the part of a line before an error of reading
		var rows feeds.Rows
		parser.Line(strings.TrimPrefix(scan.Text(), "\ufeff"), &rows)
		for _, f := range rows.Faults {
			report(fmt.Sprintf("%s:%d: %s: left out", name, at, f.Detail))
		}
		for _, f := range rows.Failures {
			n++
			fmt.Fprintf(&lines, "%s\t%s\t%s\t%s\t%s", f.Time, f.Kind, oneField(f.Device), oneField(f.Port), oneField(f.Detail))
		}
		others += int(rows.Dropped[feeds.NotAFailure])
		lines.WriteByte('\n')
	}
	if errors.Is(scan.Err(), bufio.ErrTooLong) {
		return nil, 0, 0, fmt.Errorf("a line is longer than %d bytes", maxLogLine)
	}
	return &lines, n, others, scan.Err()
}

// oneField removes the separators of fields and lines from a text.
func oneField(text string) string { return strings.NewReplacer("\t", " ", "\n", " ").Replace(text) }
