// Package bounded keeps the beginning of a program's output, so that endless output takes bounded memory.
package bounded

import "bytes"

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
