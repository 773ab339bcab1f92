package store

import (
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// rowSet is n rows of a table, column by column.
type rowSet struct {
	n      int
	fields []field
}

// field is a column of a table by name, with a value for each row.
type field struct {
	name   string
	values column
}

// names returns the column list of an INSERT statement.
func (rs rowSet) names() string {
	names := make([]string, len(rs.fields))
	for i, f := range rs.fields {
		names[i] = f.name
	}
	return strings.Join(names, ", ")
}

func (rs rowSet) slice(from, to int) rowSet {
	if from == 0 && to == rs.n {
		return rs
	}
	part := rowSet{n: to - from, fields: make([]field, len(rs.fields))}
	for i, f := range rs.fields {
		part.fields[i] = field{f.name, f.values.slice(from, to)}
	}
	return part
}

type column interface {
	appendTo(driver.BatchColumn) error
	slice(from, to int) column
}

// plain is a column of scalars.
type plain[T any] []T

func (p plain[T]) appendTo(c driver.BatchColumn) error { return c.Append([]T(p)) }
func (p plain[T]) slice(from, to int) column           { return p[from:to] }

// nested is a column of arrays or maps, which clickhouse-go appends faster row
// by row.
type nested[T any] []T

func (v nested[T]) appendTo(c driver.BatchColumn) error {
	for _, row := range v {
		if err := c.AppendRow(row); err != nil {
			return err
		}
	}
	return nil
}
func (v nested[T]) slice(from, to int) column { return v[from:to] }

// repeat returns a column that holds v n times.
func repeat[T any](v T, n int) column {
	col := make(plain[T], n)
	for i := range col {
		col[i] = v
	}
	return col
}

// each returns a column with one value per row of rows.
func each[R, T any](rows []R, value func(*R) T) plain[T] {
	col := make(plain[T], len(rows))
	for i := range rows {
		col[i] = value(&rows[i])
	}
	return col
}

func eachNested[R, T any](rows []R, value func(*R) T) nested[T] {
	return nested[T](each(rows, value))
}

func ranks(n int) column {
	col := make(plain[uint32], n)
	for i := range col {
		col[i] = uint32(i)
	}
	return col
}

// convert copies numbers to another type, which must be able to represent them.
func convert[To, From ~int | ~int32 | ~uint32](in []From) []To {
	out := make([]To, len(in))
	for i, v := range in {
		out[i] = To(v)
	}
	return out
}
