package offline

import "fmt"

// Rows are the rows of a file that another parser has read.
type Rows[T any] struct {
	Name string // of the file
	Unit string // what a place is, such as "job"; empty: a line
	Rows []Row[T]
}

// Row is a row and its place in the file, for errors.
type Row[T any] struct {
	Value T
	Place int // from 1
}

// Add adds a row.
func (r *Rows[T]) Add(value T, place int) { r.Rows = append(r.Rows, Row[T]{value, place}) }

// each calls yield with every row, until an error, to which it adds the place. r may be nil.
func (r *Rows[T]) each(yield func(T) error) error {
	if r == nil {
		return nil
	}
	for i := range r.Rows {
		if err := yield(r.Rows[i].Value); err != nil {
			return fmt.Errorf("%s: %w", r.at(r.Rows[i].Place), err)
		}
	}
	return nil
}

func (r *Rows[T]) at(place int) string {
	if r.Unit != "" {
		return fmt.Sprintf("%s: %s %d", r.Name, r.Unit, place)
	}
	return fmt.Sprintf("%s:%d", r.Name, place)
}
