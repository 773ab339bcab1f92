// Package bounded keeps the beginning of what a program prints, so that one that prints without end takes no more
// memory than it may.
package bounded

import "bytes"

// Buffer keeps the first Limit bytes that are written to it. A write never fails, so that the program is not stopped
// by a full pipe.
type Buffer struct {
	Limit int
	// Full is called when more comes; nil: nothing is.
	Full func()

	text bytes.Buffer // no embedded one: its ReadFrom would be used instead of Write
	over bool
}

// Write keeps what there is room for.
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

// Bytes are those that were kept.
func (b *Buffer) Bytes() []byte { return b.text.Bytes() }

// Over says that more came than was kept.
func (b *Buffer) Over() bool { return b.over }
