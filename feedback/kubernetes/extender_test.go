package kubernetes

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/giverny/giverny/feedback/record/recordtest"
)

// The error for a request above the listener's limit names the key to change.
func TestARequestThatIsTooLarge(t *testing.T) {
	mux := http.NewServeMux()
	NewExtender(ExtenderConfig{}, recordtest.New(t, "kubernetes-extender", ExtenderReasons()).Recorder, slog.New(slog.DiscardHandler)).Register(mux)
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/feedback/kubernetes/filter", strings.NewReader(`{"NodeNames":["n1"]}`))
	r.Body = http.MaxBytesReader(w, r.Body, 8)
	mux.ServeHTTP(w, r)
	if body := w.Body.String(); w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(body, "more than 8 bytes: set nodeCacheCapable: true") {
		t.Errorf("%d %s", w.Code, body)
	}
}
