package search

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// sizeForm matches a number with a byte unit.
var sizeForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?(?:B|([kKMGT])(?:i?B)?)$`)

// unitBytes maps prefixes to bytes: sizes of messages and memory are powers of 1024,
// with or without an i.
var unitBytes = map[string]float64{"": 1, "k": 1 << 10, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

// Quantity returns the value as a number: for a text with a unit, such as 4KB or 4KiB,
// the number of bytes. ok is false for other texts and booleans.
func (v Value) Quantity() (float64, bool) {
	if v.numeric {
		return v.number, true
	}
	m := sizeForm.FindStringSubmatch(v.String())
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	return n * unitBytes[m[2]], err == nil
}

// place is the index of a value, or of one with the same quantity (4096 and 4KB), or -1.
func (d *Dimension) place(v Value) int {
	if i := d.find(v); i >= 0 {
		return i
	}
	q, ok := v.Quantity()
	if !ok || !d.hasOrder() {
		return -1
	}
	return slices.IndexFunc(d.Values, func(o Value) bool { n, ok := o.Quantity(); return ok && n == q })
}

// above is the index of the first value with a larger quantity; len(Values) if none. It
// is an error if the value is not comparable with those of the dimension.
func (d *Dimension) above(v Value) (int, error) {
	q, ok := v.Quantity()
	first, last, some := len(d.Values), 0., false
	for i, o := range d.Values {
		n, has := o.Quantity()
		if !has {
			continue
		}
		if some && n <= last { // the engine uses another order
			some = false
			break
		}
		last, some = n, true
		if n > q && first == len(d.Values) {
			first = i
		}
	}
	switch {
	case !some:
		return 0, d.unlisted(v)
	case !ok:
		return 0, fmt.Errorf("%w, and neither a number nor a size such as 4KB, 4KiB or 1MB", d.unlisted(v))
	}
	return first, nil
}
