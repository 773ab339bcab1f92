// Package bounded limits what is read from programs, files and servers, so that endless input takes bounded memory:
// Buffer keeps the beginning of a program's output, Reader fails at the limit.
package bounded

import (
	"bytes"
	"fmt"
	"io"
)

// Buffer keeps the first Limit bytes written to it. Writes never fail, so that the program is not stopped by a
// broken pipe.
type Buffer struct {
	Limit int
	// Full is called when more arrives; may be nil.
	Full func()

	text bytes.Buffer // not embedded: its ReadFrom would bypass Write
	over bool
}

// Write keeps what fits.
func (b *Buffer) Write(p []byte) (int, error) {
	room := b.Limit - b.text.Len()
	b.text.Write(p[:min(len(p), room)])
	if len(p) > room && !b.over {
		b.over = true
		if b.Full != nil {
			b.Full()
		}
	}
	return len(p), nil
}

// Bytes returns the bytes that were kept.
func (b *Buffer) Bytes() []byte { return b.text.Bytes() }

// Over reports whether some bytes were discarded.
func (b *Buffer) Over() bool { return b.over }

// TooLargeError is the error of an input that is longer than its limit.
type TooLargeError struct{ Limit int64 }

func (e *TooLargeError) Error() string { return fmt.Sprintf("more than %d bytes", e.Limit) }

// Reader returns a reader of r that fails with a *TooLargeError where r has more than limit bytes. Unlike
// io.LimitReader it does not pass a truncated input off as a whole one.
func Reader(r io.Reader, limit int64) io.Reader { return &reader{r, limit, limit} }

type reader struct {
	r           io.Reader
	limit, left int64
}

func (b *reader) Read(p []byte) (int, error) {
	if b.left == 0 {
		var next [1]byte
		n, err := b.r.Read(next[:])
		if n > 0 {
			err = &TooLargeError{b.limit}
		}
		return 0, err
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
