package ethtool

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/giverny/giverny/collectors"
)

// Stat is one statistic of a dump.
type Stat struct {
	Name  string // canonical: family, point, the driver's name
	Value uint64
}

const (
	dumpHeader   = "NIC statistics:"
	maxDumpBytes = 4 << 20 // an adapter with 128 queues prints about 200 KB
)

// ReadDump parses the output of `ethtool -S` for one interface, keeping its order. If
// there is a header line, the statistics are the indented lines after it, and other
// text (such as the output of `ethtool -i`) is skipped; otherwise every line is one.
// Statistics of a queue keep their prefix: "bnxt.[0]: rx_ucast_packets". Errors name
// the line.
func ReadDump(r io.Reader, family string) ([]Stat, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxDumpBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxDumpBytes {
		return nil, fmt.Errorf("more than %d bytes: %w", maxDumpBytes, collectors.ErrMalformed)
	}
	lines := strings.Split(string(text), "\n")
	first, end, err := dumpBlock(lines)
	if err != nil {
		return nil, err
	}
	stats := make([]Stat, 0, end-first)
	lineOf := make(map[string]int, end-first)
	for i := first; i < end; i++ {
		line := strings.TrimSpace(lines[i])
		if line == "" {
			continue
		}
		s, err := parseStat(line, family)
		if before := lineOf[s.Name]; err == nil && before > 0 {
			err = fmt.Errorf("%s is already on line %d", s.Name, before)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w: %w", i+1, err, collectors.ErrMalformed)
		}
		lineOf[s.Name] = i + 1
		stats = append(stats, s)
	}
	if len(stats) == 0 {
		return nil, fmt.Errorf("no statistics: %w", collectors.ErrMalformed)
	}
	return stats, nil
}

// dumpBlock returns the range of lines that hold the statistics.
func dumpBlock(lines []string) (first, end int, err error) {
	end = len(lines)
	headers := 0
	for i, line := range lines {
		switch {
		case strings.TrimSpace(line) == dumpHeader:
			if headers++; headers > 1 {
				return 0, 0, fmt.Errorf("line %d: a second %q; give one interface at a time: %w", i+1, dumpHeader, collectors.ErrMalformed)
			}
			first, end = i+1, len(lines)
		case headers == 1 && end == len(lines) && line != "" && line[0] != ' ' && line[0] != '\t':
			end = i
		}
	}
	return first, end, nil
}

func parseStat(line, family string) (Stat, error) {
	colon := strings.LastIndex(line, ": ")
	if colon <= 0 {
		return Stat{}, fmt.Errorf("%q: want NAME: NUMBER", line)
	}
	value, err := strconv.ParseUint(line[colon+2:], 10, 64)
	if err != nil {
		return Stat{}, fmt.Errorf("%q: %q is not a number", line, line[colon+2:])
	}
	return Stat{Name: family + "." + line[:colon], Value: value}, nil
}
