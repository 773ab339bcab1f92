package read

import (
	"math"
	"testing"
)

// The text of a version is unique, with the format of the API document: ^[0-9a-f]{16}$.
func TestTextOfAVersion(t *testing.T) {
	for _, v := range []Version{0, 1, 0xaaaa, 0x0123456789abcdef, math.MaxUint64} {
		text, err := v.MarshalText()
		var back Version
		if err != nil || back.UnmarshalText(text) != nil || back != v {
			t.Errorf("%d is %q, and comes back as %d (%v)", v, text, back, err)
		}
	}
	for _, text := range []string{"", "AAAA", "aaaa", "0123456789ABCDEF", "0123456789abcde", "00123456789abcdef", "+123456789abcdef", "0x23456789abcdef", "0123_456789abcde", "0123456789abcdeg"} {
		v := Version(7)
		if err := v.UnmarshalText([]byte(text)); err == nil || v != 7 {
			t.Errorf("%q is taken for version %v", text, v)
		}
	}
}
