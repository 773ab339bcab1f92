package dashboards

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// csvWriter writes batches of a table as CSV with a header: times in RFC 3339, lists separated by spaces, null as
// an empty cell. Link values thus have the format of the links CSV of giverny segment.
type csvWriter struct {
	out *csv.Writer
	row []string
}

func newCSVWriter(w io.Writer, s *arrow.Schema) *csvWriter {
	c := &csvWriter{out: csv.NewWriter(w)}
	for _, f := range s.Fields() {
		c.row = append(c.row, f.Name)
	}
	_ = c.out.Write(c.row) // the writer keeps the error until Close
	return c
}

func (c *csvWriter) Write(r arrow.Record) error {
	for i := range int(r.NumRows()) {
		for k, column := range r.Columns() {
			c.row[k] = csvCell(column, i)
		}
		if err := c.out.Write(c.row); err != nil {
			return err
		}
	}
	c.out.Flush()
	return c.out.Error()
}

func (c *csvWriter) Close() error {
	c.out.Flush()
	return c.out.Error()
}

func csvCell(column arrow.Array, i int) string {
	if column.IsNull(i) {
		return ""
	}
	switch a := column.(type) {
	case *array.Timestamp:
		return a.Value(i).ToTime(arrow.Nanosecond).UTC().Format(time.RFC3339Nano)
	case *array.Float32:
		return strconv.FormatFloat(float64(a.Value(i)), 'g', -1, 32)
	case *array.Float64:
		return strconv.FormatFloat(a.Value(i), 'g', -1, 64)
	case *array.List:
		from, to := a.ValueOffsets(i)
		items := make([]string, 0, to-from)
		for k := from; k < to; k++ {
			items = append(items, a.ListValues().ValueStr(int(k)))
		}
		return strings.Join(items, " ")
	case *array.String:
		return noFormula(a.Value(i))
	}
	return column.ValueStr(i)
}

// noFormula puts an apostrophe before a text that a spreadsheet would evaluate: names are untrusted.
func noFormula(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
