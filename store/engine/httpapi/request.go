package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/giverny/giverny/store/engine/chdb"
)

// request is one statement of the ClickHouse HTTP interface: the text in the
// URL with data in the body, or the text in the body.
type request struct {
	sql       string
	data      io.Reader // the body after sql; nil if sql came from the body
	format    string    // of the result, unless the statement names one
	database  string
	settings  map[string]string
	params    map[string]string
	wholeOnly bool // send no bytes of the result before the query has succeeded
}

// parseRequest reads a request, whose statement may have at most maxBytes.
func parseRequest(r *http.Request, maxBytes int64) (*request, error) {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		return nil, notSupported("external tables")
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" {
		return nil, notSupported("compression (Content-Encoding: " + encoding + ")")
	}
	req := &request{format: "TabSeparated", settings: map[string]string{}, params: map[string]string{}}
	for key, values := range r.URL.Query() {
		if err := req.take(key, values[0]); err != nil {
			return nil, err
		}
	}
	if req.sql != "" {
		req.data = r.Body
		return req, nil
	}
	text, err := readStatement(r.Body, maxBytes)
	req.sql = text
	return req, err
}

// take applies one URL parameter. Parameters that the interface does not define
// are settings of the query.
func (req *request) take(key, value string) error {
	switch key {
	case "query":
		req.sql = value
	case "database":
		req.database = value
	case "default_format":
		req.format = value
	case "wait_end_of_query":
		req.wholeOnly = value == "1" || value == "true"
	case "compress", "decompress":
		if value == "1" {
			return notSupported("compression (" + key + "=1): the transport is local")
		}
	case "session_id":
		return notSupported("session_id: every statement has a session of its own")
	case "log_comment":
		return notSupported("log_comment: it marks the statement for cancellation")
	case "client_protocol_version", "query_id", "quota_key", "user", "password", "session_timeout", "session_check", "buffer_size",
		"network_compression_method", "network_zstd_compression_level", "http_write_exception_in_output_format":
		// These have no meaning with one local user and protocol revision 0.
	default:
		if name, ok := strings.CutPrefix(key, "param_"); ok {
			req.params[name] = value
		} else {
			req.settings[key] = value
		}
	}
	return nil
}

func notSupported(what string) error {
	return chdb.NewException(48, "NOT_IMPLEMENTED", "the embedded store does not support "+what)
}

func readStatement(body io.Reader, maxBytes int64) (string, error) {
	text, err := io.ReadAll(io.LimitReader(body, maxBytes+1))
	if err != nil {
		return "", fmt.Errorf("read the statement: %w", err)
	}
	if int64(len(text)) > maxBytes {
		return "", chdb.NewException(307, "TOO_MANY_BYTES", fmt.Sprintf("the statement has more than %d bytes: send data as an INSERT with the statement in the URL", maxBytes))
	}
	return string(text), nil
}
