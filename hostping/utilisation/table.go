package utilisation

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// column is a column of a report, in a group such as SKT0 or Package-1, with its last
// value.
type column struct {
	group, name string
	value       float64
}

// maxReport bounds the size of a tool's report in bytes.
const maxReport = 1 << 20

// columns parses a comma-separated report of Intel PCM or AMD uProf: a line of groups,
// named in their first or in every column, a line of names below it, and lines of
// values, of which the last one counts. The line of names is the first one with a
// wanted name.
func columns(text string, wanted func(name string) bool) (list []column, err error) {
	if len(text) > maxReport {
		return nil, fmt.Errorf("report of %d bytes: want up to %d", len(text), maxReport)
	}
	var groups, names []string
	for line := range strings.Lines(text) {
		cells := cellsOf(line)
		switch {
		case names == nil && anyOf(cells, wanted):
			names = cells
		case names == nil:
			if strings.Join(cells, "") != "" {
				groups = cells
			}
		default:
			if found := valuesOf(groups, names, cells, wanted); len(found) > 0 {
				list = found
			}
		}
	}
	if names == nil {
		return nil, errors.New("report without the required columns")
	}
	if len(list) == 0 {
		return nil, errors.New("report without values below its columns")
	}
	return list, nil
}

func cellsOf(line string) []string {
	cells := strings.Split(strings.TrimRight(line, "\r\n"), ",")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

func anyOf(cells []string, wanted func(string) bool) bool {
	return slices.ContainsFunc(cells, wanted)
}

// valuesOf returns the wanted columns of a line of values.
func valuesOf(groups, names, cells []string, wanted func(string) bool) (list []column) {
	group := ""
	for i, name := range names {
		if i < len(groups) && groups[i] != "" {
			group = groups[i]
		}
		if !wanted(name) || i >= len(cells) {
			continue
		}
		v, err := strconv.ParseFloat(cells[i], 64)
		if err == nil && v >= 0 && !math.IsInf(v, 0) {
			list = append(list, column{group, name, v})
		}
	}
	return list
}

// socketOf parses the number at the end of a group such as SKT0, Package-1 or "Package 1".
func socketOf(group, prefix string) (socket int, rest string, ok bool) {
	tail, ok := strings.CutPrefix(group, prefix)
	if !ok {
		return 0, "", false
	}
	tail = strings.TrimLeft(tail, "- ")
	end := 0
	for end < len(tail) && tail[end] >= '0' && tail[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(tail[:end])
	return n, tail[end:], err == nil
}
