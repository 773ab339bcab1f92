package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// table prints its lines as they come.
type table struct {
	w        io.Writer
	markdown bool
}

// columns are the widths of the plain table, and what stands above them. Leaked
// is the share of the found regions that ran out into the background, outside
// the share of their links that lie in it (bench.Result says when); root the share
// of the regions with one root that name it.
var columns = []struct {
	name  string
	width int
}{{"set", -16}, {"method", -12}, {"score", 15}, {"precision", 15}, {"recall", 15}, {"leaked", 8}, {"outside", 8}, {"CPU ms", 8}, {"p99", 8}, {"root", 7}}

func (t *table) head() {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	t.cells(names)
	if t.markdown {
		fmt.Fprintln(t.w, "|"+strings.Repeat(" --- |", 2)+strings.Repeat(" ---: |", len(columns)-2))
	}
}

func (t *table) row(set, method string, l line) {
	cpu, slow := "", ""
	if n := len(l.cpuMillis); n > 0 {
		cpu, slow = fmt.Sprintf("%.2f", l.cpuMillis[n/2]), fmt.Sprintf("%.2f", l.cpuMillis[n*99/100])
	}
	root := ""
	if l.roots > 0 {
		root = share(l.rootsRight, l.roots)
	}
	t.cells([]string{set, method, meanAndError(l.score), meanAndError(l.precision), meanAndError(l.recall),
		share(l.leaked, l.found), share(l.outsideLinks, l.links), cpu, slow, root})
}

func (t *table) cells(cells []string) {
	for i, c := range columns {
		if t.markdown {
			fmt.Fprintf(t.w, "| %s ", cells[i])
			continue
		}
		fmt.Fprintf(t.w, "%*s ", c.width, cells[i])
	}
	if t.markdown {
		fmt.Fprint(t.w, "|")
	}
	fmt.Fprintln(t.w)
}

// share is a part of a whole in percent.
func share(part, whole int) string {
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(max(1, whole)))
}

// meanAndError is the mean and its standard error.
func meanAndError(x []float64) string {
	sum, squares := 0., 0.
	for _, v := range x {
		sum += v
		squares += v * v
	}
	n := float64(len(x))
	mean := sum / n
	deviation := math.Sqrt(max(0, squares/n-mean*mean))
	return fmt.Sprintf("%.4f ± %.4f", mean, deviation/math.Sqrt(n))
}
