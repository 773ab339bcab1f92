package bluewaters

import (
	"bytes"
	"math"
	"strconv"
)

// fields are the numbers of a row in the order of the canonical columns; the
// time is in nanoseconds.
type fields struct {
	unixSeconds, nanos int64
	values             [numValues]uint32 // percent x 1e6
	coord              [3]uint32         // Z, Y, X
}

// maxDigits keeps a number on the fast path within 64 bits.
const maxDigits = 18

// parsePlain is the fast path, which does nearly all the work: it parses a line of
// plain whole numbers in canonical order at the start of b, which holds a whole line,
// and returns its length with the line end. For any other line it returns 0; those are
// left to parseLine, which handles every form and every error.
func parsePlain(b []byte, f *fields) int {
	var raw [numColumns]uint64
	i := 0
	for c := range raw {
		start := i
		var v uint64
		for i < len(b) {
			digit := uint64(b[i] - '0')
			if digit > 9 {
				break
			}
			v = v*10 + digit
			i++
		}
		if n := i - start; n == 0 || n > maxDigits || i >= len(b) {
			return 0
		}
		end := b[i]
		i++
		if c < numColumns-1 && end != ',' || c == numColumns-1 && end != '\n' {
			return 0
		}
		raw[c] = v
	}
	for v := range numValues {
		if raw[columnValues+v] > maxValue {
			return 0
		}
		f.values[v] = uint32(raw[columnValues+v])
	}
	for d := range f.coord {
		f.coord[d] = uint32(min(raw[columnZ+d], math.MaxUint32))
	}
	if f.unixSeconds, f.nanos = int64(raw[columnTime]), 0; f.unixSeconds > maxUnixSeconds {
		return 0
	}
	return i
}

// maxUnixSeconds is in the year 2200; beyond, nanoseconds would overflow.
const maxUnixSeconds = 7_258_118_400

// parseLine parses a line, without its end, in any column layout: decimals, exponents,
// blanks and quotation marks around numbers are allowed. On error it returns the number
// of the column, from 1, and the reason.
func parseLine(line []byte, layout []int, f *fields) (column int, why Reason) {
	rest, more := line, true
	for c, target := range layout {
		if !more {
			return c, WrongColumns
		}
		var field []byte
		field, rest, more = bytes.Cut(rest, []byte{','})
		if target < 0 {
			continue
		}
		if why, ok := f.set(target, bytes.Trim(field, " \t\"")); !ok {
			return c + 1, why
		}
	}
	if more {
		return len(layout) + 1, WrongColumns
	}
	return 0, 0
}

// set parses the number of one canonical column.
func (f *fields) set(target int, text []byte) (why Reason, ok bool) {
	x, err := strconv.ParseFloat(string(text), 64)
	switch {
	case math.IsNaN(x):
		return NaN, false
	case err != nil && !math.IsInf(x, 0), len(text) == 0:
		return NotANumber, false
	case x < 0:
		return Negative, false
	}
	switch {
	case target == columnTime:
		if x > maxUnixSeconds {
			return TooLarge, false
		}
		f.unixSeconds = int64(x)
		f.nanos = int64((x - math.Floor(x)) * nanosPerSecond)
	case target >= columnZ:
		if x != math.Floor(x) {
			return NotANumber, false
		}
		f.coord[target-columnZ] = uint32(min(x, math.MaxUint32))
	default:
		if x > maxValue {
			return TooLarge, false
		}
		f.values[target-columnValues] = uint32(math.Round(x))
	}
	return 0, true
}

// canonicalLayout is the layout of a file without a header line.
var canonicalLayout = func() []int {
	layout := make([]int, numColumns)
	for i := range layout {
		layout[i] = i
	}
	return layout
}()

// isHeader reports whether a line names columns instead of holding numbers.
func isHeader(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\"\ufeff")
	return len(line) > 0 && line[0] == '#' || bytes.Contains(line, []byte("nettopo_mesh_coord"))
}
