package bluewaters

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// parseHeader derives a layout from a header line: for each column of the file the
// canonical column, or -1. Names are those of the release's HEADER file,
// "Z-_SAMPLE_GEMINI_LINK_CREDIT_STALL (% x1e6)", also with blanks and signs replaced by
// underscores; columns with other names are skipped.
func parseHeader(line string) ([]int, error) {
	var layout []int
	seen := make([]bool, numColumns)
	var errs []error
	for name := range strings.SplitSeq(strings.TrimPrefix(line, "\ufeff"), ",") {
		target := columnOf(strings.Trim(name, " \t\""))
		if target >= 0 {
			if seen[target] {
				errs = append(errs, fmt.Errorf("column %q is duplicated", columnName(target)))
			}
			seen[target] = true
		}
		layout = append(layout, target)
	}
	for c, ok := range seen {
		if !ok {
			errs = append(errs, fmt.Errorf("column %q is missing", columnName(c)))
		}
	}
	return layout, errors.Join(errs...)
}

// columnOf returns the canonical column of a name, or -1. The name must begin like one
// of the release; the rest is the unit in some spelling.
func columnOf(name string) int {
	if slices.Contains([]string{"#Time", "Time", "_Time"}, name) {
		return columnTime
	}
	for c := columnTime + 1; c < numColumns; c++ {
		stem, _, _ := strings.Cut(columnName(c), " ")
		if rest, ok := strings.CutPrefix(name, stem); ok && (rest == "" || strings.ContainsAny(rest[:1], " _(")) {
			return c
		}
	}
	return -1
}
