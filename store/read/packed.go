package read

import (
	"encoding/binary"
	"fmt"
)

// packed are numbers of four bytes that a query returns as one string:
//
//	unhex(arrayStringConcat(arrayMap(x -> hex(reinterpretAsFixedString(x)), numbers)))
//
// The client scans an array by reflection, with five allocations for each of its elements.
type packed[T uint32 | float32] []T

// UnmarshalBinary is called by the client.
func (p *packed[T]) UnmarshalBinary(b []byte) error {
	const size = 4
	if len(b)%size != 0 {
		return fmt.Errorf("%d bytes of packed numbers: want a multiple of %d", len(b), size)
	}
	*p = make([]T, len(b)/size)
	_, err := binary.Decode(b, binary.LittleEndian, []T(*p))
	return err
}
