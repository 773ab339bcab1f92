package chdb

import (
	"fmt"
	"regexp"
	"strconv"
	"unsafe"
)

// Exception is an error reported by the engine, in ClickHouse's format: "Code:
// 60. DB::Exception: ... (UNKNOWN_TABLE)". Code is 0 if it has none.
type Exception struct {
	Code int
	Text string
}

func (e *Exception) Error() string { return e.Text }

// NewException formats an error of our own like one of ClickHouse. The name is
// the symbolic one of the code, such as NOT_IMPLEMENTED for 48.
func NewException(code int, name, message string) *Exception {
	return &Exception{Code: code, Text: fmt.Sprintf("Code: %d. DB::Exception: %s. (%s)", code, message, name)}
}

// exceptionAt reads an error's C string; a null pointer means no error.
func exceptionAt(text unsafe.Pointer) error {
	if text == nil {
		return nil
	}
	n := 0
	for *(*byte)(unsafe.Add(text, n)) != 0 {
		n++
	}
	return parseException(string(unsafe.Slice((*byte)(text), n)))
}

var exceptionStart = regexp.MustCompile(`Code: (\d{1,9})\. `)

// parseException removes what the library's client side puts before the
// exception: a second copy of the code, a file name.
func parseException(text string) *Exception {
	at := exceptionStart.FindStringSubmatchIndex(text)
	if at == nil {
		return &Exception{Text: text}
	}
	code, _ := strconv.Atoi(text[at[2]:at[3]]) // at most nine digits: cannot fail
	return &Exception{Code: code, Text: text[at[0]:]}
}
