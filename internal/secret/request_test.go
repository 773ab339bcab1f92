package secret_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/secret"
)

// A redirect to another host is not followed; one to the same host is.
func TestSameHost(t *testing.T) {
	var got []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = append(got, r.Header.Get("X-Token")) }))
	defer other.Close()
	mux := http.NewServeMux()
	mux.Handle("/away", http.RedirectHandler(strings.Replace(other.URL, "127.0.0.1", "localhost", 1), http.StatusFound))
	mux.Handle("/loop", http.RedirectHandler("/loop", http.StatusFound))
	mux.Handle("/moved", http.RedirectHandler(other.URL, http.StatusFound)) // another port of the same host
	server := httptest.NewServer(mux)
	defer server.Close()
	client := http.Client{CheckRedirect: secret.SameHost}
	for path, want := range map[string]string{"/away": "another host, localhost", "/loop": "too many redirects", "/moved": ""} {
		ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		ask.Header.Set("X-Token", "s3cret")
		answer, err := client.Do(ask)
		if err == nil {
			answer.Body.Close()
		}
		if (want == "") != (err == nil) || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if len(got) != 1 || got[0] != "s3cret" {
		t.Errorf("the other server got %q", got)
	}
}

// Neither an address that is none nor one that does not answer is printed.
func TestErrorsDoNotPrintTheAddress(t *testing.T) {
	_, err := secret.NewRequest(t.Context(), http.MethodGet, "http://user:s3cret@a b/", nil)
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v", err)
	}
	away := httptest.NewServer(nil)
	away.Close()
	request, err := secret.NewRequest(t.Context(), http.MethodGet, away.URL+"/?token=s3cret", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := secret.Do(http.DefaultClient, request); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v", err)
	}
}
