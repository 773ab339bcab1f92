package read

import (
	"encoding"
	"math"
	"slices"
	"testing"
)

func TestPackedNumbers(t *testing.T) {
	var links packed[uint32]
	if err := links.UnmarshalBinary([]byte{0, 0, 0, 0, 1, 2, 0, 0, 0xff, 0xff, 0xff, 0xff}); err != nil || !slices.Equal(links, packed[uint32]{0, 0x201, math.MaxUint32}) {
		t.Errorf("links %v, %v", links, err)
	}
	var values packed[float32]
	if err := values.UnmarshalBinary([]byte{0, 0, 0xc0, 0x3f, 0, 0, 0xc0, 0x7f}); err != nil || len(values) != 2 || values[0] != 1.5 || values[1] == values[1] {
		t.Errorf("values %v, %v, want 1.5 and NaN", values, err)
	}
	for _, p := range []encoding.BinaryUnmarshaler{&links, &values} {
		if err := p.UnmarshalBinary([]byte{1, 2, 3, 4, 5}); err == nil {
			t.Errorf("5 bytes are no numbers of 4: %v", p)
		}
	}
	if err := links.UnmarshalBinary(nil); err != nil || len(links) != 0 {
		t.Errorf("no links: %v, %v", links, err)
	}
}
