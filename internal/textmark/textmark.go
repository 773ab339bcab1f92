// Package textmark drops the byte order mark with which some editors and spreadsheets begin a text in UTF-8: a text goes in,
// the same text without the mark comes out.
package textmark

import (
	"bufio"
	"bytes"
	"io"
)

// mark is U+FEFF in UTF-8.
const mark = "\ufeff"

// Skip returns a reader of a text without its mark. It reads the first bytes now.
func Skip(r io.Reader) *bufio.Reader {
	in := bufio.NewReaderSize(r, 64<<10)
	if head, _ := in.Peek(len(mark)); string(head) == mark { // the first read returns an error again
		_, _ = in.Discard(len(mark))
	}
	return in
}

// Trim returns a text without its mark.
func Trim(text []byte) []byte { return bytes.TrimPrefix(text, []byte(mark)) }
