// Package table prints a table row by row, with columns of fixed width: plain text for
// a terminal, or Markdown.
package table

import (
	"fmt"
	"io"
	"strings"
)

// Column of a table.
type Column struct {
	Name  string
	Width int // of the plain table, in characters; negative: left-aligned
}

// Table prints each row immediately.
type Table struct {
	W        io.Writer
	Markdown bool
	Columns  []Column
}

// Head prints the column names.
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

// Row prints a row, with a cell for each column.
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
