package envelope

import "github.com/apache/arrow/go/v15/arrow"

// reader reads the columns of a record and keeps the first error.
type reader struct {
	record arrow.Record
	rows   int
	err    error
}

func (r *reader) column(i int) arrow.ArrayData {
	data := r.record.Column(i).Data()
	r.keep(noneMissing(data))
	return data
}

func (r *reader) keep(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) texts(i, minimum, limit int) textColumn {
	c, err := texts(r.column(i), r.rows, minimum, limit)
	r.keep(err)
	return c
}

func numbers[T arrow.NumericType](r *reader, i int) []T {
	v, err := values[T](r.column(i), r.rows)
	r.keep(err)
	return v
}

// listColumn is a validated column of lists.
type listColumn[T any] struct {
	offsets []int32
	values  []T
}

func (c listColumn[T]) at(i int) []T { return c.values[c.offsets[i]:c.offsets[i+1]] }

func readList[T arrow.NumericType](r *reader, i int) (c listColumn[T]) {
	offsets, elements, err := lists(r.column(i), r.rows)
	r.keep(err)
	if r.err != nil || r.rows == 0 {
		return c
	}
	r.keep(noneMissing(elements))
	c.offsets = offsets
	c.values, err = values[T](elements, elements.Len())
	r.keep(err)
	return c
}
