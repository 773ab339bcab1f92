package engine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// tableRow is a row of perftest's result table.
type tableRow struct {
	bytes float64 // of a message
	gbps  float64 // average, of the messages' bytes
	mpps  float64 // million messages a second
}

// parseTables reads the result tables of a bandwidth test of perftest: a header line
// " #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]" and a row
// below it. A bidirectional test with --report-both has three: both directions, the
// local one and the remote one. (--out_json of Debian's 4.5 is no JSON.)
func parseTables(text string) (rows []tableRow, err error) {
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

// parseRow finds the row below a header: bytes, iterations, peak, average, rate.
func parseRow(lines []string) (tableRow, error) {
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) < 5 {
			if len(f) > 0 && f[0] == "#bytes" {
				break
			}
			continue
		}
		var v [5]float64
		var err error
		for k := range v {
			if v[k], err = strconv.ParseFloat(f[k], 64); err != nil {
				break
			}
		}
		if err == nil {
			return tableRow{bytes: v[0], gbps: v[3], mpps: v[4]}, nil
		}
	}
	return tableRow{}, errors.New("result table: no row below the header")
}
