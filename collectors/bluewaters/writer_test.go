package bluewaters

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// AppendRow appends a row as a day file has it, with the line's end.
func AppendRow(buf []byte, r *Row) []byte {
	buf = strconv.AppendInt(buf, r.UnixSeconds, 10)
	for _, values := range [...]*[NumDirections]uint32{&r.CreditStall, &r.InqStall, &r.UsedBandwidth} {
		for _, v := range values {
			buf = strconv.AppendUint(append(buf, ','), uint64(v), 10)
		}
	}
	for _, c := range [...]int{r.Z, r.Y, r.X} {
		buf = strconv.AppendInt(append(buf, ','), int64(c), 10)
	}
	return append(buf, '\n')
}

// Header is the header line of the variant that has one, with the line's end.
func Header() string {
	names := make([]string, numColumns)
	for c := range names {
		names[c] = columnName(c)
	}
	return strings.Join(names, ",") + "\n"
}

// Writer writes a day file. The released files have no header line, two rows
// for each switch and minute, and are named YYYYMMDD.
type Writer struct {
	w   *bufio.Writer
	buf []byte
}

// NewWriter makes a writer. Flush must be called at the end.
func NewWriter(w io.Writer) *Writer { return &Writer{w: bufio.NewWriterSize(w, 64<<10)} }

// Write writes one row.
func (w *Writer) Write(r *Row) error {
	w.buf = AppendRow(w.buf[:0], r)
	_, err := w.w.Write(w.buf)
	return err
}

// Flush writes what is buffered.
func (w *Writer) Flush() error { return w.w.Flush() }
