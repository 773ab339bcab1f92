package perftest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Latency is the row of the result table of a latency test, microseconds.
type Latency struct {
	Bytes         float64 // of a message
	TypicalMicros float64 // the median
	// SamplesMicros are all iterations in order, if --report-unsorted was given.
	SamplesMicros []float64
}

// maxSamples bounds the iterations kept of a test.
const maxSamples = 1 << 20

// Latencies parses the output of a perftest latency test with --report-unsorted: a line
// "#, usec" followed by lines "1, 1.25" (a second, sorted list if it prints a
// histogram), and a header " #bytes #iterations t_min[usec] t_max[usec] t_typical[usec]
// ..." followed by a row. Older versions have fewer columns.
func Latencies(text string) (l Latency, err error) {
	lines := strings.Split(text, "\n")
	header := -1 // perftest 4.5 prints it before the samples, and after them with the row
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "#bytes") {
			header = i
		}
	}
	if header < 0 {
		return l, errors.New("no result table")
	}
	column := slices.Index(strings.Fields(lines[header]), "t_typical[usec]")
	if column < 0 {
		return l, fmt.Errorf("result table: header %q: want t_typical[usec]", strings.TrimSpace(lines[header]))
	}
	row, err := numbersBelow(lines[header+1:], column+1)
	if err != nil {
		return l, err
	}
	l.Bytes, l.TypicalMicros = row[0], row[column]
	l.SamplesMicros, err = samples(lines)
	return l, err
}

// samples returns the first list.
func samples(lines []string) (list []float64, err error) {
	inList := false
	for i, line := range lines {
		number, rest, found := strings.Cut(line, ", ")
		switch {
		case inList && (!found || strings.TrimSpace(number) == "#"):
			return list, nil
		case found && strings.TrimSpace(number) == "#":
			if rest = strings.TrimSpace(rest); rest != "usec" {
				return nil, fmt.Errorf("latency samples: in %q: want usec", rest)
			}
			inList = true
		case inList && len(list) < maxSamples:
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if math.IsInf(v, 1) && err == nil {
				return nil, ErrClock
			}
			if err != nil || v < 0 || math.IsNaN(v) || math.IsInf(v, -1) {
				return nil, fmt.Errorf("latency samples: line %d: %.80q", i+1, line)
			}
			list = append(list, v)
		}
	}
	return list, nil
}
