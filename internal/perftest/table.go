package perftest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Bandwidth is a row of the result table of a bandwidth test.
type Bandwidth struct {
	Bytes    float64 // of a message
	Messages float64 // the iterations
	Gbps     float64 // average, payload only
	Mpps     float64 // million messages per second
}

// ErrClock is a result without times: perftest measures the CPU frequency, which
// occasionally fails on a busy host and gives 0.
var ErrClock = errors.New("perftest could not measure the processor's frequency: its times are infinite")

// clockAttempts bounds the attempts of a test that fails with ErrClock.
const clockAttempts = 3

// Clocked runs a test, and retries it on ErrClock.
func Clocked(test func() error) (err error) {
	for range clockAttempts {
		if err = test(); !errors.Is(err, ErrClock) {
			break
		}
	}
	return err
}

// enoughMessages give a rate above the table's 0.000000 if they took less than 50 s.
const enoughMessages = 50

// Check detects a rate of 0 although messages were sent.
func (b *Bandwidth) Check() error {
	if b.Messages >= enoughMessages && b.Mpps == 0 {
		return fmt.Errorf("no rate for %.0f messages: %w", b.Messages, ErrClock)
	}
	return nil
}

// Bandwidths parses the result tables of a perftest bandwidth test: a header line "
// #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]" followed by a
// row. A bidirectional test with --report-both has three tables: both directions,
// local, remote. (--out_json of Debian's 4.5 is not valid JSON.)
func Bandwidths(text string) (rows []Bandwidth, err error) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(strings.TrimSpace(line), "#bytes") {
			continue
		}
		if !strings.Contains(line, "BW average[Gb/sec]") || !strings.Contains(line, "MsgRate[Mpps]") {
			return nil, fmt.Errorf("result table: header %q: want BW average[Gb/sec] and MsgRate[Mpps]", strings.TrimSpace(line))
		}
		row, err := parseRow(lines[i+1:])
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, errors.New("no result table")
	}
	return rows, nil
}

// parseRow parses the row below a header: bytes, iterations, peak, average, rate.
func parseRow(lines []string) (Bandwidth, error) {
	v, err := numbersBelow(lines, 5)
	if err != nil {
		return Bandwidth{}, err
	}
	return Bandwidth{Bytes: v[0], Messages: v[1], Gbps: v[3], Mpps: v[4]}, nil
}

// numbersBelow parses the first line below a header that begins with n numbers.
func numbersBelow(lines []string, n int) ([]float64, error) {
	v := make([]float64, n)
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) > 0 && f[0] == "#bytes" {
			break
		}
		if len(f) < n {
			continue
		}
		var err error
		for k := range v {
			if v[k], err = strconv.ParseFloat(f[k], 64); err != nil {
				break
			}
		}
		if err == nil {
			return v, nil
		}
	}
	return nil, errors.New("result table: no row below the header")
}
