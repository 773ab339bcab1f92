package flightrecorder

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
)

// Bounds of one pickle. A dump of 16 ranks has a few thousand values; the default ring
// of 2,000 entries with stack frames has a few hundred thousand.
const (
	MaxBytes  = 256 << 20 // of one dump
	maxValues = 4 << 20   // pushed on the stack
	maxStack  = 1 << 20   // values on the stack at once
)

// Values of a pickle are nil, bool, int64, *big.Int, float64, string, *list and *dict.
// Bytes become strings, tuples become lists.
type (
	list struct{ items []any }
	dict struct{ at map[string]any } // integer keys in decimal; nil while empty
)

// Opcodes of the pickle virtual machine, protocols 2 to 4, limited to those that build
// values.
const (
	opMark, opStop, opPop, opPopMark, opDup                = '(', '.', '0', '1', '2'
	opNone, opBinInt, opBinInt1, opBinInt2                 = 'N', 'J', 'K', 'M'
	opBinFloat, opBinString, opShortBinString              = 'G', 'T', 'U'
	opBinUnicode, opBinBytes, opShortBinBytes              = 'X', 'B', 'C'
	opEmptyList, opAppend, opAppends, opList               = ']', 'a', 'e', 'l'
	opEmptyDict, opSetItem, opSetItems, opDict             = '}', 's', 'u', 'd'
	opEmptyTuple, opTuple, opBinPut, opLongBinPut          = ')', 't', 'q', 'r'
	opBinGet, opLongBinGet                                 = 'h', 'j'
	opProto, opTuple1, opTuple2, opTuple3                  = 0x80, 0x85, 0x86, 0x87
	opNewTrue, opNewFalse, opLong1, opLong4                = 0x88, 0x89, 0x8a, 0x8b
	opShortUnicode, opUnicode8, opBinBytes8, opMemo, opFrm = 0x8c, 0x8d, 0x8e, 0x94, 0x95
)

// refused are the opcodes that load or call code.
var refused = map[byte]string{
	'c': "GLOBAL", 'R': "REDUCE", 'b': "BUILD", 'i': "INST", 'o': "OBJ", 'P': "PERSID", 'Q': "BINPERSID",
	0x81: "NEWOBJ", 0x82: "EXT1", 0x83: "EXT2", 0x84: "EXT4", 0x92: "NEWOBJ_EX", 0x93: "STACK_GLOBAL",
}

// mark separates the values of a container under construction from those below.
type mark struct{}

// machine executes a pickle: a stack, a memo, and the unread data.
type machine struct {
	data   []byte
	at     int // offset of the current opcode
	pos    int
	stack  []any
	memo   map[uint32]any
	values int
	err    error
}

// unpickle reads one pickle. Trailing data is an error.
func unpickle(data []byte) (any, error) {
	m := &machine{data: data, memo: map[uint32]any{}}
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("byte 0: %d bytes are more than a dump can have (%d)", len(data), MaxBytes)
	}
	for m.err == nil {
		m.at = m.pos
		op := m.byte()
		if m.err == nil && op == opStop {
			top := m.pop()
			switch {
			case m.err != nil:
			case len(m.stack) > 0:
				m.fail("%d values are left at the end", len(m.stack))
			case m.pos < len(data):
				m.fail("%d bytes follow the end", len(data)-m.pos)
			default:
				return top, nil
			}
			break
		}
		m.step(op)
	}
	return nil, m.err
}

func (m *machine) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf("byte %d: "+format, append([]any{m.at}, args...)...)
	}
}

func (m *machine) step(op byte) {
	switch {
	case m.err != nil:
	case m.scalar(op), m.container(op), m.memory(op):
	case refused[op] != "":
		m.fail("opcode %s would load or call code: refused", refused[op])
	default:
		m.fail("opcode 0x%02x is not among those of a Flight Recorder dump", op)
	}
}

// scalar executes the opcodes that push a single scalar.
func (m *machine) scalar(op byte) bool {
	switch op {
	case opNone:
		m.push(nil)
	case opNewTrue, opNewFalse:
		m.push(op == opNewTrue)
	case opBinInt:
		m.push(int64(int32(m.uint(4))))
	case opBinInt1:
		m.push(int64(m.uint(1)))
	case opBinInt2:
		m.push(int64(m.uint(2)))
	case opLong1:
		m.push(integer(m.bytes(m.uint(1))))
	case opLong4:
		m.push(integer(m.bytes(m.uint(4))))
	case opBinFloat:
		if b := m.bytes(8); m.err == nil {
			m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
		}
	case opShortBinString, opShortBinBytes, opShortUnicode:
		m.push(string(m.bytes(m.uint(1))))
	case opBinString, opBinUnicode, opBinBytes:
		m.push(string(m.bytes(m.uint(4))))
	case opUnicode8, opBinBytes8:
		m.push(string(m.bytes(m.uint(8))))
	default:
		return false
	}
	return true
}

// container executes the opcodes of lists, tuples and dicts.
func (m *machine) container(op byte) bool {
	switch op {
	case opMark:
		m.push(mark{})
	case opEmptyList, opEmptyTuple:
		m.push(&list{})
	case opEmptyDict:
		m.push(&dict{})
	case opTuple1, opTuple2, opTuple3:
		m.push(&list{items: m.take(int(op) - opTuple1 + 1)})
	case opTuple, opList:
		m.push(&list{items: m.toMark()})
	case opDict:
		items := m.toMark()
		d := &dict{}
		m.set(d, items)
		m.push(d)
	case opAppend:
		m.extend(m.take(1))
	case opAppends:
		m.extend(m.toMark())
	case opSetItem:
		items := m.take(2)
		m.setTop(items)
	case opSetItems:
		m.setTop(m.toMark())
	default:
		return false
	}
	return true
}

// memory executes the opcodes for memo, stack and protocol.
func (m *machine) memory(op byte) bool {
	switch op {
	case opBinPut:
		m.put(uint32(m.uint(1)))
	case opLongBinPut:
		m.put(uint32(m.uint(4)))
	case opMemo:
		m.put(uint32(len(m.memo)))
	case opBinGet:
		m.get(uint32(m.uint(1)))
	case opLongBinGet:
		m.get(uint32(m.uint(4)))
	case opPop:
		m.pop()
	case opPopMark:
		m.toMark()
	case opDup:
		if top := m.pop(); m.err == nil {
			m.push(top)
			m.push(top)
		}
	case opProto:
		if v := m.uint(1); m.err == nil && v > 5 {
			m.fail("pickle protocol %d: want 2 to 5", v)
		}
	case opFrm:
		m.uint(8)
	default:
		return false
	}
	return true
}

func (m *machine) byte() byte {
	if b := m.bytes(1); m.err == nil {
		return b[0]
	}
	return 0
}

// uint reads a little-endian integer of n bytes.
func (m *machine) uint(n int) uint64 {
	var v uint64
	for i, b := range m.bytes(uint64(n)) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

func (m *machine) bytes(n uint64) []byte {
	if m.err != nil {
		return nil
	}
	if left := len(m.data) - m.pos; n > uint64(left) {
		m.fail("%w: need %d bytes, %d are left", ErrCut, n, left)
		return nil
	}
	m.pos += int(n)
	return m.data[m.pos-int(n) : m.pos]
}

// integer decodes a two's complement, little-endian number.
func integer(b []byte) any {
	if len(b) <= 8 {
		var v uint64
		for i, x := range b {
			v |= uint64(x) << (8 * i)
		}
		if n := len(b); n > 0 && n < 8 && b[n-1] >= 0x80 {
			v |= ^uint64(0) << (8 * n)
		}
		return int64(v)
	}
	reversed := make([]byte, len(b))
	for i, x := range b {
		reversed[len(b)-1-i] = x
	}
	v := new(big.Int).SetBytes(reversed)
	if b[len(b)-1] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v
}

func (m *machine) push(v any) {
	if m.values++; m.values > maxValues {
		m.fail("more than %d values", maxValues)
	}
	if len(m.stack) >= maxStack {
		m.fail("more than %d values on the stack", maxStack)
	}
	if m.err == nil {
		m.stack = append(m.stack, v)
	}
}

func (m *machine) pop() any {
	if items := m.take(1); m.err == nil {
		return items[0]
	}
	return nil
}

// take pops n values, none of them a mark.
func (m *machine) take(n int) []any {
	if m.err == nil && len(m.stack) < n {
		m.fail("need %d values, the stack has %d", n, len(m.stack))
	}
	if m.err != nil {
		return nil
	}
	at := len(m.stack) - n
	items := append([]any(nil), m.stack[at:]...)
	for _, v := range items {
		if _, is := v.(mark); is {
			m.fail("found a mark, want a value")
			return nil
		}
	}
	m.stack = m.stack[:at]
	return items
}

// toMark pops the values above the last mark, and the mark.
func (m *machine) toMark() []any {
	for at := len(m.stack) - 1; at >= 0 && m.err == nil; at-- {
		if _, is := m.stack[at].(mark); is {
			items := append([]any(nil), m.stack[at+1:]...)
			m.stack = m.stack[:at]
			return items
		}
	}
	m.fail("no mark on the stack")
	return nil
}

func (m *machine) top() any {
	if m.err == nil && len(m.stack) == 0 {
		m.fail("the stack is empty")
	}
	if m.err != nil {
		return nil
	}
	return m.stack[len(m.stack)-1]
}

func (m *machine) extend(items []any) {
	l, ok := m.top().(*list)
	if m.err == nil && !ok {
		m.fail("values are added to something that is not a list")
	}
	if m.err == nil {
		l.items = append(l.items, items...)
	}
}

func (m *machine) setTop(items []any) {
	d, ok := m.top().(*dict)
	if m.err == nil && !ok {
		m.fail("keys are set in something that is not a dict")
	}
	if m.err == nil {
		m.set(d, items)
	}
}

func (m *machine) set(d *dict, items []any) {
	if m.err == nil && len(items)%2 != 0 {
		m.fail("a key without a value")
	}
	if d.at == nil && len(items) > 0 {
		d.at = map[string]any{}
	}
	for i := 0; i+1 < len(items) && m.err == nil; i += 2 {
		switch key := items[i].(type) {
		case string:
			d.at[key] = items[i+1]
		case int64:
			d.at[fmt.Sprint(key)] = items[i+1]
		default:
			m.fail("a key is neither string nor integer")
		}
	}
}

func (m *machine) put(index uint32) {
	top := m.top()
	if len(m.memo) >= maxValues {
		m.fail("more than %d values in the memo", maxValues)
	}
	if m.err == nil {
		m.memo[index] = top
	}
}

func (m *machine) get(index uint32) {
	v, ok := m.memo[index]
	if m.err == nil && !ok {
		m.fail("memo %d is read before it is set", index)
	}
	m.push(v)
}
