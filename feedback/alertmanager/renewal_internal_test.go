package alertmanager

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/giverny/giverny/feedback/record/recordtest"
)

// The password is read for each request, so that a renewed one needs no restart.
func TestARenewedPasswordIsSent(t *testing.T) {
	cfg := DefaultConfig()
	cfg.User, cfg.PasswordFile = "giverny", filepath.Join(t.TempDir(), "password")
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		sent = append(sent, password)
	}))
	defer server.Close()
	var a *Alertmanager
	for _, password := range []string{"old", "renewed"} {
		err := os.WriteFile(cfg.PasswordFile, []byte(password+"\n"), 0o600)
		if err == nil && a == nil {
			a, err = New(cfg, recordtest.New(t, "alertmanager", Reasons()).Recorder)
		}
		if err == nil {
			err = a.postTo(t.Context(), server.URL, []byte("[]"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(sent, []string{"old", "renewed"}) {
		t.Errorf("sent %v", sent)
	}
}
