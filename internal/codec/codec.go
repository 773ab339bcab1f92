// Package codec is a compact, checked binary form for what a process has learned and a later one takes
// up again. A function that lists the fields of a state goes in, and bytes come out; the same function
// and the bytes give the state back: one description serves both ways, so that they cannot drift apart.
//
// A sealed state is a mark, a version, the fields, and a CRC-32C of all before it. Whole numbers are
// varints, floating-point numbers their 8 bytes, little-endian. Bytes that are damaged, of another kind
// or of a version that is not read any more are refused before or while the fields are read; nothing
// that they say makes the reader allocate more than in proportion to their length. It does no I/O and
// does not know what it saves.
package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// ErrDamaged and ErrVersion say why bytes were refused: they are not what Seal wrote, or were written
// by a program whose version of the format is not read here.
var (
	ErrDamaged = errors.New("the saved state is damaged")
	ErrVersion = errors.New("the saved state has another version")
)

// Format is the frame around the fields of one kind of state.
type Format struct {
	Mark    string // names the kind of state; the first bytes
	Version uint8  // is written
	Oldest  uint8  // is still read, and all from there to Version
}

const (
	versionBytes  = 1
	checksumBytes = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Seal appends the framed fields to buf.
func (f Format) Seal(buf []byte, fields func(*Coder)) []byte {
	begin := len(buf)
	c := Coder{buf: append(append(buf, f.Mark...), f.Version), version: f.Version}
	fields(&c)
	return binary.LittleEndian.AppendUint32(c.buf, crc32.Checksum(c.buf[begin:], castagnoli))
}

// Open lets fields read what Seal made of them, in this version or an older one, which Coder.Version
// says. It fails with ErrDamaged, ErrVersion or what fields passed to Coder.Fail; what fields has
// written by then must be thrown away.
func (f Format) Open(sealed []byte, fields func(*Coder)) error {
	head, body := len(f.Mark)+versionBytes, len(sealed)-checksumBytes
	if body < head || string(sealed[:len(f.Mark)]) != f.Mark {
		return fmt.Errorf("%w: %d bytes without the mark %q", ErrDamaged, len(sealed), f.Mark)
	}
	if crc32.Checksum(sealed[:body], castagnoli) != binary.LittleEndian.Uint32(sealed[body:]) {
		return fmt.Errorf("%w: the checksum does not fit", ErrDamaged)
	}
	version := sealed[len(f.Mark)]
	if version < f.Oldest || version > f.Version {
		return fmt.Errorf("%w: it is of version %d, this program reads %d to %d", ErrVersion, version, f.Oldest, f.Version)
	}
	c := Coder{buf: sealed[head:body], reading: true, version: version}
	fields(&c)
	if c.err == nil && len(c.buf) > 0 {
		c.Damaged("%d bytes are left over", len(c.buf))
	}
	return c.err
}
