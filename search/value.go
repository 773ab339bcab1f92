package search

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Value is one value of a dimension: a number, text or boolean, as written by the
// engine.
type Value struct {
	text    string // its JSON
	number  float64
	numeric bool
}

// Number returns the value of a number. Its text has an exponent only where JSON's would: 4194304, not 4.194304e+06,
// which programs that expect integers reject.
func Number(n float64) Value {
	format := byte('f')
	if size := math.Abs(n); size != 0 && size < 1e-6 || size >= 1e21 {
		format = 'g'
	}
	return Value{text: strconv.FormatFloat(n, format, -1, 64), number: n, numeric: true}
}

// Numbers returns the values of numbers.
func Numbers(numbers ...float64) (values []Value) {
	for _, n := range numbers {
		values = append(values, Number(n))
	}
	return values
}

// Text returns the value of a text.
func Text(s string) Value {
	quoted, _ := json.Marshal(s) // a string always marshals
	return Value{text: string(quoted)}
}

// Texts returns the values of texts.
func Texts(texts ...string) (values []Value) {
	for _, s := range texts {
		values = append(values, Text(s))
	}
	return values
}

// String is the value for display: a text without quotes.
func (v Value) String() string {
	var s string
	if json.Unmarshal([]byte(v.text), &s) == nil {
		return s
	}
	return v.text
}

// Float is the value of a number; otherwise 0.
func (v Value) Float() float64 { return v.number }

// MarshalJSON writes the value as the engine wrote it.
func (v Value) MarshalJSON() ([]byte, error) { return []byte(v.text), nil }

// UnmarshalJSON accepts a number, text or boolean.
func (v *Value) UnmarshalJSON(b []byte) error {
	var x any
	if err := json.Unmarshal(b, &x); err != nil {
		return err
	}
	switch x := x.(type) {
	case float64:
		*v = Value{text: string(b), number: x, numeric: true}
	case string:
		*v = Text(x)
	case bool:
		*v = Value{text: strconv.FormatBool(x)}
	default:
		return fmt.Errorf("value %.40s: want a number, a text or true or false", b)
	}
	return nil
}

// same reports whether two values are equal: 1e3 is 1000.
func (v Value) same(o Value) bool {
	return v.numeric == o.numeric && (v.numeric && v.number == o.number || v.text == o.text)
}
