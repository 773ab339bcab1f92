package dashboards

import (
	"compress/gzip"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// mostCompressed is the most bytes that the page may have, compressed.
const mostCompressed = 1 << 20

func TestThePageIsServed(t *testing.T) {
	h := serve(t, nil, torus)
	for path, text := range map[string]string{"/": "<title>Giverny</title>", "/assets/index.js": "EventSource", "/assets/style.css": "--ground", "/icon.svg": "<svg"} {
		if body := h.get("../.."+path, http.StatusOK); !strings.Contains(body, text) {
			t.Errorf("%s holds no %q", path, text)
		}
	}
	for _, path := range []string{"/nothing.js", "/assets/", "/web/dist/index.html"} {
		h.get("../.."+path, http.StatusNotFound)
	}
}

// away matches addresses of other hosts. Names of XML vocabularies and messages that three.js writes to its
// console do not count.
var away = regexp.MustCompile(`(https?:)?//[a-z0-9-]+\.[a-z0-9.]+`)

// The page must work without access to other hosts, under a policy that allows no inline script or style, and be small.
func TestThePageStandsAlone(t *testing.T) {
	files, err := pageFiles()
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for name, f := range files {
		total += len(f.zipped)
		for _, found := range away.FindAllString(string(f.plain), -1) {
			if !strings.Contains(found, "www.w3.org") {
				t.Errorf("%s refers to %s", name, found)
			}
		}
	}
	if total == 0 || total > mostCompressed {
		t.Errorf("the page takes %d bytes compressed, want at most %d", total, mostCompressed)
	}
	index := string(files["index.html"].plain)
	for _, inline := range []string{"<style", " style=", "onclick=", "javascript:"} {
		if strings.Contains(index, inline) {
			t.Errorf("index.html has %q, which the content security policy forbids", inline)
		}
	}
	if scripts := regexp.MustCompile(`<script[^>]*>[^<]`).FindString(index); scripts != "" {
		t.Errorf("index.html has an inline script: %s", scripts)
	}
}

// A browser that has a file is not sent it again, and one that accepts gzip gets it compressed.
func TestTheFilesOfThePage(t *testing.T) {
	h := serve(t, nil, torus)
	fetch := func(header, value string) *http.Response {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+"/assets/index.js", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set(header, value)
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { response.Body.Close() })
		return response
	}
	zipped := fetch("Accept-Encoding", "gzip")
	if zipped.Header.Get("Content-Encoding") != "gzip" || !strings.HasPrefix(zipped.Header.Get("Content-Type"), "text/javascript") {
		t.Fatalf("headers %v", zipped.Header)
	}
	reader, err := gzip.NewReader(zipped.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(reader); err != nil || !strings.Contains(string(text), "EventSource") {
		t.Errorf("unzipped: %d bytes, %v", len(text), err)
	}
	tag := zipped.Header.Get("ETag")
	if again := fetch("If-None-Match", tag); again.StatusCode != http.StatusNotModified || tag == "" {
		t.Errorf("with its tag %q: status %d", tag, again.StatusCode)
	}
	if other := fetch("If-None-Match", `"other"`); other.StatusCode != http.StatusOK || other.Header.Get("Content-Encoding") != "" {
		t.Errorf("with another tag and no gzip: status %d, %v", other.StatusCode, other.Header)
	}
}
