package codec

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Coder encodes or decodes fields. Every method takes a pointer to the value, which encoding leaves
// unchanged. After the first error all decoded values are zero.
type Coder struct {
	buf     []byte // encoded so far, or still to be decoded
	reading bool
	version uint8
	err     error
}

// Reading reports whether the coder decodes.
func (c *Coder) Reading() bool { return c.reading }

// Version of the format being encoded or decoded.
func (c *Coder) Version() uint8 { return c.version }

// Failed reports whether an error occurred; loops over many fields should then stop.
func (c *Coder) Failed() bool { return c.err != nil }

// Fail rejects the state; Open returns the first error.
func (c *Coder) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
	if c.reading {
		c.buf = nil
	}
}

// Damaged rejects the state with ErrDamaged and a reason.
func (c *Coder) Damaged(format string, args ...any) {
	c.Fail(fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...)))
}

// Uint is a number from 0 to limit.
func (c *Coder) Uint(v *uint64, limit uint64) {
	if !c.reading {
		c.buf = binary.AppendUvarint(c.buf, *v)
		return
	}
	x, n := binary.Uvarint(c.buf)
	if n <= 0 || x > limit {
		c.Damaged("number %d, want at most %d, of %d bytes", x, limit, len(c.buf))
		x, n = 0, 0
	}
	*v, c.buf = x, c.buf[n:]
}

// Int is any integer; values near 0 are short.
func (c *Coder) Int(v *int64) {
	if !c.reading {
		c.buf = binary.AppendVarint(c.buf, *v)
		return
	}
	x, n := binary.Varint(c.buf)
	if n <= 0 {
		c.Damaged("a number is truncated")
		x, n = 0, 0
	}
	*v, c.buf = x, c.buf[n:]
}

// IntFrom is an integer encoded as its difference from a nearby one.
func (c *Coder) IntFrom(v *int64, from int64) {
	distance := *v - from
	c.Int(&distance)
	*v = from + distance
}

// Float is a finite number.
func (c *Coder) Float(v *float64) {
	if !c.reading {
		c.buf = binary.LittleEndian.AppendUint64(c.buf, math.Float64bits(*v))
		return
	}
	*v = 0
	if len(c.buf) < 8 {
		c.Damaged("a value is truncated")
		return
	}
	x := math.Float64frombits(binary.LittleEndian.Uint64(c.buf))
	if !(math.Abs(x) < 1e300) {
		c.Damaged("value %v is not finite", x)
		return
	}
	*v, c.buf = x, c.buf[8:]
}

// Bool is one byte.
func (c *Coder) Bool(v *bool) {
	x := uint64(0)
	if *v {
		x = 1
	}
	c.Uint(&x, 1)
	*v = x == 1
}

// Text is a string of any bytes.
func (c *Coder) Text(s *string) {
	n := c.Count(len(*s))
	if !c.reading {
		c.buf = append(c.buf, *s...)
		return
	}
	*s, c.buf = string(c.buf[:n]), c.buf[n:]
}

// Count is the length n of a sequence whose elements take at least one byte each: a length beyond the
// remaining input is an error, so that a reader may allocate by it.
func (c *Coder) Count(n int) int {
	x := uint64(n)
	c.Uint(&x, math.MaxUint64)
	if c.reading && x > uint64(len(c.buf)) {
		c.Damaged("a length of %d, of %d bytes", x, len(c.buf))
		x = 0
	}
	return int(x)
}

// Small is an integer from 0 to below limit.
func Small[T ~uint8 | ~int | ~uint32](c *Coder, v *T, limit uint64) {
	x := uint64(*v)
	c.Uint(&x, limit-1)
	*v = T(x)
}

// Each is a slice: its length, then every element encoded by code, which also gets the index. When
// decoding, elements are appended one by one; it stops at the first error.
func Each[T any](c *Coder, s *[]T, code func(i int, v *T)) {
	n := c.Count(len(*s))
	if c.reading {
		*s = (*s)[:0]
	}
	for i := 0; i < n && !c.Failed(); i++ {
		if c.reading {
			var zero T
			*s = append(*s, zero)
		}
		code(i, &(*s)[i])
	}
}

// Ascending is a strictly ascending list of numbers below limit, such as links.
func Ascending[T ~uint32](c *Coder, s *[]T, limit int) {
	previous := int64(-1)
	Each(c, s, func(_ int, v *T) {
		step := uint64(int64(*v) - previous - 1)
		c.Uint(&step, uint64(max(0, int64(limit)-previous-2)))
		if previous += int64(step) + 1; previous >= int64(limit) {
			c.Damaged("number %d of %d", previous, limit)
		}
		*v = T(previous)
	})
}
