package httpapi

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	var exception *chdb.Exception
	if errors.As(err, &exception) && exception.Code > 0 {
		r.w.Header().Set("X-ClickHouse-Exception-Code", strconv.Itoa(exception.Code))
	}
	r.w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
	r.w.WriteHeader(http.StatusInternalServerError)
	io.WriteString(r.w, err.Error())
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
