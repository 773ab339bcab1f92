package codec

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Coder writes fields to a state or reads them from one, whichever it was made for. Every method takes
// the place of a value and leaves it alone when writing. After the first fault all that is read is zero.
type Coder struct {
	buf     []byte // written so far, or still to be read
	reading bool
	version uint8
	err     error
}

// Reading says which way the fields go.
func (c *Coder) Reading() bool { return c.reading }

// Version of the format in which the fields are read or written.
func (c *Coder) Version() uint8 { return c.version }

// Failed says that a fault was found; loops over many fields end there.
func (c *Coder) Failed() bool { return c.err != nil }

// Fail refuses the state; the first fault is the one that Open reports.
func (c *Coder) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
	if c.reading {
		c.buf = nil
	}
}

// Damaged refuses the state with ErrDamaged and what is wrong with it.
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

// Int is any whole number; those near 0 are short.
func (c *Coder) Int(v *int64) {
	if !c.reading {
		c.buf = binary.AppendVarint(c.buf, *v)
		return
	}
	x, n := binary.Varint(c.buf)
	if n <= 0 {
		c.Damaged("a number is cut short")
		x, n = 0, 0
	}
	*v, c.buf = x, c.buf[n:]
}

// IntFrom is a whole number that is stored as its distance from one near it.
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
		c.Damaged("a value is cut short")
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

// Bytes is a block of bytes; what is read is a copy.
func (c *Coder) Bytes(b *[]byte) {
	n := c.Count(len(*b))
	if !c.reading {
		c.buf = append(c.buf, *b...)
		return
	}
	*b, c.buf = append([]byte(nil), c.buf[:n]...), c.buf[n:]
}

// Count is the length n of what follows, of which each takes at least one byte: a length beyond what is
// left to be read is a fault, so that a reader may allocate by it.
func (c *Coder) Count(n int) int {
	x := uint64(n)
	c.Uint(&x, math.MaxUint64)
	if c.reading && x > uint64(len(c.buf)) {
		c.Damaged("a length of %d, of %d bytes", x, len(c.buf))
		x = 0
	}
	return int(x)
}

// Small is a whole number below limit.
func Small[T ~uint8 | ~int | ~uint32](c *Coder, v *T, limit uint64) {
	x := uint64(*v)
	c.Uint(&x, limit-1)
	*v = T(x)
}

// Each is a slice: its length, then every element by code, which is given the element's index. When
// reading, elements are appended to the slice one by one; it ends at the first fault.
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

// Ascending is a list of numbers below limit, each above the one before: links, mostly.
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
