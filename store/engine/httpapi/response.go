package httpapi

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/giverny/giverny/store/engine/chdb"
)

// response writes a result. An error before the first byte becomes an HTTP
// error; a later one becomes the exception block that ClickHouse appends to a
// body, marked with a random tag that a header announced.
type response struct {
	w       http.ResponseWriter
	control *http.ResponseController
	tag     string // set with the first byte
}

func newResponse(w http.ResponseWriter) *response {
	return &response{w: w, control: http.NewResponseController(w)}
}

func (r *response) Write(chunk []byte) (int, error) {
	if r.tag == "" {
		var random [8]byte
		rand.Read(random[:]) // never fails
		r.tag = hex.EncodeToString(random[:])
		r.w.Header().Set("Content-Type", "application/octet-stream")
		r.w.Header().Set("X-ClickHouse-Exception-Tag", r.tag)
	}
	return r.w.Write(chunk)
}

// finish ends the response, given the statement's error or nil.
func (r *response) finish(err error) {
	if r.tag != "" {
		if err != nil {
			r.writeExceptionBlock(err)
		}
		return
	}
	if err == nil {
		r.w.Header().Set("Content-Length", "0")
		r.w.WriteHeader(http.StatusOK)
		return
	}
	status := http.StatusInternalServerError
	var exception *chdb.Exception
	if errors.As(err, &exception) && exception.Code > 0 {
		status = statusOf(exception.Code)
		r.w.Header().Set("X-ClickHouse-Exception-Code", strconv.Itoa(exception.Code))
	}
	r.w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
	r.w.WriteHeader(status)
	io.WriteString(r.w, err.Error())
}

// Codes of exceptions that the statement causes, not the server, from exceptionCodeToHTTPStatus.cpp of ClickHouse. The codes of
// arguments (42, 43, 386), of columns outside an aggregate (215) and of nested aggregates (184) are our addition.
var (
	badStatement = []int{6, 8, 15, 25, 26, 27, 36, 37, 38, 41, 42, 43, 44, 53, 62, 72, 117, 123, 167, 168, 184, 215, 223, 321, 376, 386, 427, 441, 675, 676}
	unknownName  = []int{46, 47, 50, 56, 60, 63, 73, 78, 81, 115, 152, 336, 511}
)

// statusOf returns the HTTP status of an exception.
func statusOf(code int) int {
	const notImplemented, timeoutExceeded, queryIsTooLarge = 48, 159, 229
	switch {
	case slices.Contains(badStatement, code):
		return http.StatusBadRequest
	case slices.Contains(unknownName, code):
		return http.StatusNotFound
	case code == notImplemented:
		return http.StatusNotImplemented
	case code == timeoutExceeded:
		return http.StatusRequestTimeout
	case code == queryIsTooLarge:
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusInternalServerError
}

// writeExceptionBlock follows WriteBufferFromHTTPServerResponse.cpp of
// ClickHouse: marker, tag, text, its length and the tag again, marker.
func (r *response) writeExceptionBlock(err error) {
	const marker = "\r\n__exception__\r\n"
	const maxText = 16<<10 - 256 // a client looks for the block in the last 16 KiB
	text := err.Error()
	text = text[:min(len(text), maxText)] + "\n"
	fmt.Fprintf(r.w, "%s%s\r\n%s%d %s%s", marker, r.tag, text, len(text), r.tag, marker)
}
