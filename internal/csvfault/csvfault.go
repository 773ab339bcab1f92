// Package csvfault reads possibly damaged CSV in bounded memory, and explains errors so that a
// person can fix the row. Input: an error of encoding/csv and the row as far as it was read.
// Output: the line, and the problem: the number of fields and the expected one, or the
// location of a quotation mark.
package csvfault

import (
	"encoding/csv"
	"errors"
	"fmt"

	"github.com/giverny/giverny/internal/plural"
)

// Explain returns the line of an error, from 1, and what to do about it. The line is 0 if
// the error is an I/O error.
func Explain(err error, r *Reader, record []string) (line int, fault error) {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return 0, err
	}
	switch {
	case errors.Is(err, csv.ErrFieldCount):
		return parse.Line, fmt.Errorf("%s where the header has %d; complete the row, or quote a field that contains a comma",
			plural.Count(len(record), "field", "fields"), r.FieldsPerRecord)
	case errors.Is(err, csv.ErrBareQuote):
		return parse.Line, fmt.Errorf("character %d: a quotation mark within a field; delete it, or quote the field and double this mark", parse.Column)
	case errors.Is(err, csv.ErrQuote):
		return parse.StartLine, errors.New("a quoted field does not end with a quotation mark; close it, and double those within it")
	}
	return parse.Line, parse.Err
}
