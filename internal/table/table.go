// Package table prints a table whose lines come one after the other, so that columns
// have a width beforehand: plain for a terminal, or in Markdown for a page. In go
// columns and cells, out come lines.
package table

import (
	"fmt"
	"io"
	"strings"
)

// Column of a table.
type Column struct {
	Name  string
	Width int // of the plain table, in characters; below 0: text begins at the left
}

// Table prints its lines as they come.
type Table struct {
	W        io.Writer
	Markdown bool
	Columns  []Column
}

// Head prints the names of the columns.
func (t *Table) Head() {
	names := make([]string, len(t.Columns))
	rule := "|"
	for i, c := range t.Columns {
		names[i] = c.Name
		if c.Width < 0 {
			rule += " --- |"
		} else {
			rule += " ---: |"
		}
	}
	t.Row(names...)
	if t.Markdown {
		fmt.Fprintln(t.W, rule)
	}
}

// Row prints a line, with a cell for each column.
func (t *Table) Row(cells ...string) {
	if t.Markdown {
		fmt.Fprintf(t.W, "| %s |\n", strings.Join(cells, " | "))
		return
	}
	for i, c := range t.Columns {
		fmt.Fprintf(t.W, "%*s ", c.Width, cells[i])
	}
	fmt.Fprintln(t.W)
}
