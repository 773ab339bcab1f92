package operation

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Tagged is a response that has its own entity tag; for others it is a hash of the response.
type Tagged interface{ ETag() string }

// Table is a response that can also be written as an Arrow IPC stream and CSV.
type Table interface {
	// WriteTable writes it as ArrowStream or CSV. An error after the first byte truncates the response.
	WriteTable(w io.Writer, format string) error
}

// Paged is a paginated table: NextCursor is the cursor of the next page, empty on the last.
type Paged interface{ NextCursor() string }

// Immutable is a response that never changes: clients need not revalidate it.
type Immutable interface{ Immutable() bool }

// tagBytes is the number of bytes of a hash in a tag.
const tagBytes = 12

// TagOf returns the entity tag of a content: weak, since it does not depend on the compression.
func TagOf(content []byte) string {
	sum := sha256.Sum256(content)
	return `W/"` + hex.EncodeToString(sum[:tagBytes]) + `"`
}

// matches reports whether If-None-Match contains the tag (RFC 9110, section 13.1.2: the weak comparison).
func matches(header, tag string) bool {
	for candidate := range strings.SplitSeq(header, ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == strings.TrimPrefix(tag, "W/") && candidate != "" {
			return true
		}
	}
	return false
}

// errUnencodable means that JSON cannot encode a response, because a number in it is not finite.
var errUnencodable = errors.New("the answer cannot be written as JSON")

// writeValue responds with a value as JSON, or with 304.
func writeValue(w http.ResponseWriter, r *http.Request, value any) (status int, err error) {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(value); err != nil {
		return 0, errors.Join(errUnencodable, err)
	}
	tag := ""
	if t, ok := value.(Tagged); ok {
		tag = t.ETag()
	}
	w.Header().Set("Cache-Control", "no-cache")
	if i, ok := value.(Immutable); ok && i.Immutable() {
		w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	return writeTagged(w, r, tag, body.Bytes()), nil
}

// WriteJSON responds with encoded JSON, or with 304.
func WriteJSON(w http.ResponseWriter, r *http.Request, body []byte) {
	w.Header().Set("Cache-Control", "no-cache")
	writeTagged(w, r, "", body)
}

// writeTagged responds with JSON and a tag, by default its hash, or with 304.
func writeTagged(w http.ResponseWriter, r *http.Request, tag string, body []byte) (status int) {
	if tag == "" {
		tag = TagOf(body)
	}
	w.Header().Set("ETag", tag)
	if reads := r.Method == http.MethodGet || r.Method == http.MethodHead; reads && matches(r.Header.Get("If-None-Match"), tag) {
		return writeNotModified(w, tag)
	}
	send(w, r, JSON, http.StatusOK, body)
	return http.StatusOK
}

func writeNotModified(w http.ResponseWriter, tag string) int {
	if tag != "" {
		w.Header().Set("ETag", tag)
	}
	w.Header().Set("Vary", vary)
	w.WriteHeader(http.StatusNotModified)
	return http.StatusNotModified
}

// vary lists the request headers that a response depends on.
const vary = "Accept, Accept-Encoding, Authorization, Cookie"

// smallest is the minimum length at which a response is compressed.
const smallest = 512

// send writes a complete body, compressed if the client accepts it.
func send(w http.ResponseWriter, r *http.Request, contentType string, status int, body []byte) {
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Vary", vary)
	encoding := ""
	if len(body) >= smallest {
		encoding = encodingFor(r.Header.Get("Accept-Encoding"))
	}
	if encoding == "" {
		header.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(status)
		_, _ = w.Write(body) // an error means that the client disconnected
		return
	}
	header.Set("Content-Encoding", encoding)
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	z := compressor(w, encoding)
	_, _ = z.Write(body)
	_ = z.Close()
}

// compressor prefers speed over size.
func compressor(w io.Writer, encoding string) io.WriteCloser {
	if encoding == "zstd" {
		z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
		if err == nil {
			return z
		}
		panic("operation: " + err.Error()) // the options are constants
	}
	z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
	return z
}

// writeTable streams a table as the response.
func writeTable(w http.ResponseWriter, r *http.Request, t Table, format string) (status int, err error) {
	if tagged, ok := t.(Tagged); ok {
		w.Header().Set("ETag", tagged.ETag())
		w.Header().Set("Cache-Control", "no-cache")
		if matches(r.Header.Get("If-None-Match"), tagged.ETag()) {
			return writeNotModified(w, tagged.ETag()), nil
		}
	}
	header := w.Header()
	header.Set("Content-Type", format)
	header.Set("Vary", vary)
	if page, ok := t.(Paged); ok && page.NextCursor() != "" {
		query := r.URL.Query()
		query.Set("cursor", page.NextCursor())
		header.Set("Link", "<?"+query.Encode()+`>; rel="next"`)
	}
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return http.StatusOK, nil
	}
	encoding := encodingFor(r.Header.Get("Accept-Encoding"))
	if encoding == "" {
		return http.StatusOK, t.WriteTable(w, format)
	}
	header.Set("Content-Encoding", encoding)
	z := compressor(w, encoding)
	if err := t.WriteTable(z, format); err != nil {
		return http.StatusOK, err
	}
	return http.StatusOK, z.Close()
}
