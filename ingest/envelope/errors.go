package envelope

import (
	"errors"
	"fmt"
)

// Reason says why a payload was rejected; it is the label of the drop counter.
type Reason string

// Reasons, in the order of the checks.
const (
	Truncated  Reason = "truncated"   // shorter or longer than its header says
	BadMagic   Reason = "bad_magic"   // not one of ours
	BadVersion Reason = "bad_version" // of a later Giverny
	BadKind    Reason = "bad_kind"    // unknown, or not the one that the caller expects
	TooLarge   Reason = "too_large"   // above a limit of this package
	BadCRC     Reason = "bad_crc"     // damaged
	BadSnappy  Reason = "bad_snappy"  // the block does not decompress to the stated length
	BadArrow   Reason = "bad_arrow"   // not the kind of Arrow stream that Encoder writes
	BadSchema  Reason = "bad_schema"  // wrong columns or metadata
	BadRows    Reason = "bad_rows"    // wrong number of rows, or an invalid value
)

// Reasons lists all reasons, for counters that start at zero.
func Reasons() []Reason {
	return []Reason{Truncated, BadMagic, BadVersion, BadKind, TooLarge, BadCRC, BadSnappy, BadArrow, BadSchema, BadRows}
}

// Error is the rejection of a payload, by Decoder or already by Encoder.
type Error struct {
	Reason Reason
	Detail string
}

func (e *Error) Error() string { return fmt.Sprintf("envelope: %s: %s", e.Reason, e.Detail) }

// ReasonOf returns the reason of an error of this package, and false for any other error.
func ReasonOf(err error) (Reason, bool) {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason, true
	}
	return "", false
}

func refuse(reason Reason, format string, args ...any) error {
	return &Error{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}
