package envelope

import (
	"math"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/giverny/giverny/schema"
)

// Writing: the columns share the caller's memory, nothing is copied.

// fixed returns a column of numbers. If valid is nil every row has a value.
func fixed[T arrow.NumericType](t arrow.DataType, values []T, valid schema.Bitmap) arrow.Array {
	var bitmap *memory.Buffer
	missing := 0
	if valid != nil {
		bitmap = memory.NewBufferBytes(arrow.GetBytes([]uint64(valid))[:(len(values)+7)/8])
		missing = len(values) - countBelow(valid, len(values))
	}
	data := array.NewData(t, len(values), []*memory.Buffer{bitmap, memory.NewBufferBytes(arrow.GetBytes(values))}, nil, missing, 0)
	return array.MakeFromData(data)
}

// countBelow returns the number of members of b below n.
func countBelow(b schema.Bitmap, n int) int {
	whole := b[:n/64]
	count := whole.Count()
	if rest := n % 64; rest != 0 {
		count += schema.Bitmap{b[n/64] & (1<<rest - 1)}.Count()
	}
	return count
}

// dictionaryOf returns a column of indices into texts.
func dictionaryOf(t *arrow.DictionaryType, indices []uint32, texts arrow.Array) arrow.Array {
	data := array.NewDataWithDictionary(t, len(indices),
		[]*memory.Buffer{nil, memory.NewBufferBytes(arrow.GetBytes(indices))}, 0, 0, texts.Data().(*array.Data))
	return array.MakeFromData(data)
}

// listOf returns a column of lists; list i is values[offsets[i]:offsets[i+1]].
func listOf(t arrow.DataType, offsets []int32, values arrow.Array) arrow.Array {
	data := array.NewData(t, len(offsets)-1, []*memory.Buffer{nil, memory.NewBufferBytes(arrow.GetBytes(offsets))},
		[]arrow.ArrayData{values.Data()}, 0, 0)
	return array.MakeFromData(data)
}

// textBuilder builds a column of text.
type textBuilder struct {
	offsets []int32
	bytes   []byte
}

func (b *textBuilder) reset() {
	b.offsets, b.bytes = append(b.offsets[:0], 0), b.bytes[:0]
}

func (b *textBuilder) add(s string) {
	b.bytes = append(b.bytes, s...)
	b.offsets = append(b.offsets, int32(len(b.bytes)))
}

func (b *textBuilder) column() arrow.Array {
	data := array.NewData(arrow.BinaryTypes.String, len(b.offsets)-1, []*memory.Buffer{nil,
		memory.NewBufferBytes(arrow.GetBytes(b.offsets)), memory.NewBufferBytes(b.bytes)}, nil, 0, 0)
	return array.MakeFromData(data)
}

// emptyTexts returns n empty builders, in the encoder's memory.
func (e *Encoder) emptyTexts(n int) []textBuilder {
	for len(e.texts) < n {
		e.texts = append(e.texts, textBuilder{})
	}
	for i := range n {
		e.texts[i].reset()
	}
	return e.texts[:n]
}

func checkText(what, s string, limit int) error {
	if len(s) > limit {
		return refuse(BadRows, "%s of %d bytes, the limit is %d", what, len(s), limit)
	}
	if !utf8.ValidString(s) {
		return refuse(BadRows, "%s %q is not UTF-8", what, s)
	}
	return nil
}

func checkName(what, s string) error {
	if s == "" {
		return refuse(BadRows, "%s is empty", what)
	}
	return checkText(what, s, MaxNameBytes)
}

// Reading: Arrow validates little of what it reads, so the buffers are taken as bytes and checked here.

// values returns a column's numbers, in the decoder's memory.
func values[T arrow.NumericType](column arrow.ArrayData, n int) ([]T, error) {
	var zero T
	if n == 0 {
		return nil, nil
	}
	b := column.Buffers()[1]
	if column.Len() != n || column.Offset() != 0 || b == nil || b.Len() < n*int(unsafe.Sizeof(zero)) {
		return nil, refuse(BadRows, "a column of %d values, want %d", column.Len(), n)
	}
	return arrow.GetData[T](b.Bytes())[:n:n], nil
}

// noneMissing rejects a column with missing values.
func noneMissing(column arrow.ArrayData) error {
	if column.NullN() != 0 {
		return refuse(BadRows, "%d values are missing in a column that must have all", column.NullN())
	}
	return nil
}

// validity returns which rows of a column have a value, in into's memory if it fits, and nil if all have.
func validity(column arrow.ArrayData, n int, into schema.Bitmap) (schema.Bitmap, error) {
	if column.NullN() == 0 {
		return nil, nil
	}
	b := column.Buffers()[0]
	if b == nil || b.Len() < (n+7)/8 {
		return nil, refuse(BadRows, "a column with missing values and no validity bitmap")
	}
	into = into.Resize(n)
	copy(arrow.GetBytes([]uint64(into)), b.Bytes()[:(n+7)/8])
	if rest := n % 64; rest != 0 {
		into[len(into)-1] &= 1<<rest - 1
	}
	if missing := n - into.Count(); missing != column.NullN() {
		return nil, refuse(BadRows, "%d values are missing, the column says %d", missing, column.NullN())
	}
	return into, nil
}

// textColumn is a validated column of text.
type textColumn struct {
	offsets []int32
	bytes   []byte
}

func (c textColumn) len() int        { return max(0, len(c.offsets)-1) }
func (c textColumn) at(i int) []byte { return c.bytes[c.offsets[i]:c.offsets[i+1]] }

// texts validates a column of n texts of up to limit bytes; minimum 1 rejects empty ones.
func texts(column arrow.ArrayData, n, minimum, limit int) (c textColumn, err error) {
	if n == 0 {
		return c, nil
	}
	if err := noneMissing(column); err != nil {
		return c, err
	}
	if c.offsets, err = values[int32](withLen(column, n), n+1); err != nil {
		return c, err
	}
	if b := column.Buffers()[2]; b != nil {
		c.bytes = b.Bytes()
	}
	if err := checkOffsets(c.offsets, len(c.bytes)); err != nil {
		return c, err
	}
	for i := range n {
		s := c.at(i)
		if len(s) < minimum || len(s) > limit {
			return c, refuse(BadRows, "a text of %d bytes, want %d to %d", len(s), minimum, limit)
		}
		if !utf8.Valid(s) {
			return c, refuse(BadRows, "text %q is not UTF-8", s)
		}
	}
	return c, nil
}

// lists validates the offsets of a column of n lists.
func lists(column arrow.ArrayData, n int) (offsets []int32, elements arrow.ArrayData, err error) {
	elements = column.Children()[0]
	if n == 0 {
		return nil, elements, nil
	}
	if err := noneMissing(column); err != nil {
		return nil, nil, err
	}
	if offsets, err = values[int32](withLen(column, n), n+1); err != nil {
		return nil, nil, err
	}
	return offsets, elements, checkOffsets(offsets, elements.Len())
}

// withLen returns the n+1 offsets of a column of n texts or lists as a column of numbers.
func withLen(column arrow.ArrayData, n int) arrow.ArrayData {
	if column.Len() != n {
		return column
	}
	return array.NewData(arrow.PrimitiveTypes.Int32, n+1, column.Buffers(), nil, 0, column.Offset())
}

func checkOffsets(offsets []int32, end int) error {
	previous := int32(0)
	for _, o := range offsets {
		if o < previous {
			return refuse(BadRows, "offsets %d after %d", o, previous)
		}
		previous = o
	}
	if int(previous) > end || end > math.MaxInt32 {
		return refuse(BadRows, "offset %d in %d bytes", previous, end)
	}
	return nil
}
