package dashboards

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestHeaders(t *testing.T) {
	h := serve(t, nil, torus)
	for path, contentType := range map[string]string{"/": "text/html; charset=utf-8", "/api/v1/openapi.json": "application/json", "/api/v1/fabrics/x/snapshot": "application/problem+json"} {
		for encoding, want := range map[string]string{"br, gzip": "gzip", "gzip, zstd": "zstd", "gzip;q=1, zstd;q=0.5": "gzip", "gzip;q=0": "", "br": "", "": ""} {
			response := h.getRaw(path, http.Header{"Accept-Encoding": {encoding}})
			for name, want := range map[string]string{"Content-Type": contentType, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin"} {
				if got := response.Header.Get(name); got != want {
					t.Errorf("%s: %s is %q, want %q", path, name, got, want)
				}
			}
			if policy := response.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'self'") || !strings.Contains(policy, "frame-ancestors 'none'") {
				t.Errorf("%s: policy %q", path, policy)
			}
			if contentType != "application/json" {
				continue
			}
			if got := response.Header.Get("Content-Encoding"); got != want || !strings.Contains(response.Header.Get("Vary"), "Accept-Encoding") {
				t.Errorf("%q: headers %v", encoding, response.Header)
			}
			if text, err := io.ReadAll(decoded(t, response)); err != nil || !json.Valid(text) {
				t.Errorf("%q: %.100q, %v", encoding, text, err)
			}
		}
	}
}

// getRaw gets a path once and leaves the body compressed.
func (h *house) getRaw(path string, header http.Header) *http.Response {
	h.t.Helper()
	request, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.url+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	if header != nil {
		request.Header = header
	}
	transport := &http.Transport{DisableCompression: true}
	h.t.Cleanup(transport.CloseIdleConnections)
	response, err := transport.RoundTrip(request)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { response.Body.Close() })
	return response
}

// decoded is the body of an answer without its compression.
func decoded(t testing.TB, response *http.Response) io.Reader {
	t.Helper()
	var r io.Reader = response.Body
	var err error
	switch response.Header.Get("Content-Encoding") {
	case "gzip":
		r, err = gzip.NewReader(response.Body)
	case "zstd":
		r, err = zstd.NewReader(response.Body)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}
