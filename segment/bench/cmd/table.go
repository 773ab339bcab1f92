package main

import (
	"fmt"
	"math"

	"github.com/giverny/giverny/internal/table"
)

// columns of the table. Leaked is the share of found regions that leaked into the background, outside the share of
// their links there (see bench.Result); root is the share of the regions with one root that name it.
var columns = []table.Column{{Name: "set", Width: -16}, {Name: "method", Width: -12}, {Name: "score", Width: 15}, {Name: "precision", Width: 15}, {Name: "recall", Width: 15},
	{Name: "leaked", Width: 8}, {Name: "outside", Width: 8}, {Name: "CPU ms", Width: 8}, {Name: "p99", Width: 8}, {Name: "root", Width: 7}}

// row prints the results of a method on a set.
func row(t *table.Table, set, method string, l line) {
	cpu, slow := "", ""
	if n := len(l.cpuMillis); n > 0 {
		cpu, slow = fmt.Sprintf("%.2f", l.cpuMillis[n/2]), fmt.Sprintf("%.2f", l.cpuMillis[n*99/100])
	}
	root := ""
	if l.roots > 0 {
		root = share(l.rootsRight, l.roots)
	}
	t.Row(set, method, meanAndError(l.score), meanAndError(l.precision), meanAndError(l.recall),
		share(l.leaked, l.found), share(l.outsideLinks, l.links), cpu, slow, root)
}

// share formats a part of a whole in percent.
func share(part, whole int) string {
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(max(1, whole)))
}

// meanAndError formats the mean and its standard error.
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
