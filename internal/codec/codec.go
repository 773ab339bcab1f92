// Package codec is a compact binary serialisation, with a checksum, of state that a process saves and a
// later one restores. A function lists the fields of a state; the same function encodes and decodes
// them, so that the two cannot diverge.
//
// A sealed state is a mark, a version, the fields, and a CRC-32C of all of that. Integers are varints,
// floating-point numbers 8 bytes, little-endian. Input that is damaged, of another kind or of an
// unsupported version is rejected before or while the fields are decoded; memory allocation is at most
// proportional to the length of the input. It does no I/O and does not know the states it encodes.
package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// ErrDamaged and ErrVersion say why input was rejected: it is not what Seal wrote, or its format
// version is not supported.
var (
	ErrDamaged = errors.New("the saved state is damaged")
	ErrVersion = errors.New("the saved state has another version")
)

// Format is the framing of one kind of state.
type Format struct {
	Mark    string // identifies the kind of state; the first bytes
	Version uint8  // version that is written
	Oldest  uint8  // oldest version that can be read
}

const (
	versionBytes  = 1
	checksumBytes = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Seal returns the framed fields.
func (f Format) Seal(fields func(*Coder)) []byte {
	c := Coder{buf: append([]byte(f.Mark), f.Version), version: f.Version}
	fields(&c)
	return binary.LittleEndian.AppendUint32(c.buf, crc32.Checksum(c.buf, castagnoli))
}

// Open decodes with fields what Seal wrote, in any supported version; see Coder.Version. It fails
// with ErrDamaged, ErrVersion or the error passed to Coder.Fail; results decoded before that must be
// discarded.
func (f Format) Open(sealed []byte, fields func(*Coder)) error {
	head, body := len(f.Mark)+versionBytes, len(sealed)-checksumBytes
	if body < head || string(sealed[:len(f.Mark)]) != f.Mark {
		return fmt.Errorf("%w: %d bytes without the mark %q", ErrDamaged, len(sealed), f.Mark)
	}
	if crc32.Checksum(sealed[:body], castagnoli) != binary.LittleEndian.Uint32(sealed[body:]) {
		return fmt.Errorf("%w: the checksum does not match", ErrDamaged)
	}
	version := sealed[len(f.Mark)]
	if err := f.Reads(int(version)); err != nil {
		return err
	}
	c := Coder{buf: sealed[head:body], reading: true, version: version}
	fields(&c)
	if c.err == nil && len(c.buf) > 0 {
		c.Damaged("%d bytes are left over", len(c.buf))
	}
	return c.err
}

// Reads returns ErrVersion unless Open decodes that version.
func (f Format) Reads(version int) error {
	if version < int(f.Oldest) || version > int(f.Version) {
		return fmt.Errorf("%w: it has version %d, this program reads %d to %d", ErrVersion, version, f.Oldest, f.Version)
	}
	return nil
}
