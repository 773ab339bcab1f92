package bluewaters

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// parseHeader makes a layout of a header line: for each column of the file the
// canonical column it holds, or -1. Names are those of the release's HEADER
// file, "Z-_SAMPLE_GEMINI_LINK_CREDIT_STALL (% x1e6)", also where blanks and
// signs have become underscores; columns of other names are passed over.
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

// columnOf finds the canonical column of a name, or -1. A name must begin like
// one of the release; what follows is the unit in some spelling.
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
