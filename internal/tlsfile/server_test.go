package tlsfile_test

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/internal/test/journal"
	"github.com/giverny/giverny/internal/test/pipes"
	"github.com/giverny/giverny/internal/tlsfile"
)

// secureServer serves over TLS with the files; its response says whether the client had a certificate.
func secureServer(t *testing.T, files tlsfile.Server, log io.Writer) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	secure(t, l, files, log)
	return l.Addr().String()
}

// secure is secureServer on a listener.
func secure(t *testing.T, l net.Listener, files tlsfile.Server, log io.Writer) {
	t.Helper()
	r, err := tlsfile.NewReloader(files, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.VerifiedChains) > 0 {
			w.Write([]byte("known"))
		}
	})
	s := &httptest.Server{Listener: tls.NewListener(l, r.Config()),
		Config: &http.Server{Handler: handler, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}}
	s.Start()
	t.Cleanup(s.Close)
}

// shown is the serial number of a server's certificate.
func shown(t *testing.T, l *pipes.Listener) string {
	t.Helper()
	plain, err := l.Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	c := tls.Client(plain, &tls.Config{InsecureSkipVerify: true})
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].SerialNumber.String() + c.ConnectionState().PeerCertificates[0].NotAfter.String()
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Minute) // differs even with a coarse file system clock
	if err := os.Chtimes(to, later, later); err != nil {
		t.Fatal(err)
	}
}

// A server uses a new certificate soon after the files have changed, without a restart; with inconsistent files
// the current certificate stays in force.
func TestServerReloads(t *testing.T) { synctest.Test(t, serverReloads) }

func serverReloads(t *testing.T) {
	cert, key := writePair(t)
	time.Sleep(1100 * time.Millisecond) // certificates expire at whole seconds, so the second one differs
	newCert, newKey := writePair(t)
	log := &journal.Journal{}
	l := pipes.Listen()
	secure(t, l, tlsfile.Server{Cert: cert, Key: key}, log)
	before := shown(t, l)
	copyFile(t, newCert, cert)
	time.Sleep(1100 * time.Millisecond)
	if got := shown(t, l); got != before {
		t.Error("a certificate without its key is shown")
	}
	copyFile(t, newKey, key)
	if !await.Holds(time.Minute, 100*time.Millisecond, func() bool { return shown(t, l) != before }) {
		t.Fatalf("the new certificate is never shown: %s", log)
	}
	if n := strings.Count(log.String(), "certificate not read"); n != 1 {
		t.Errorf("the fault is logged %d times: %s", n, log)
	}
}

// Clients may present a certificate of the CA; one of another CA is rejected.
func TestServerKnowsClients(t *testing.T) {
	cert, key := writePair(t)
	other, otherKey := writePair(t)
	address := secureServer(t, tlsfile.Server{Cert: cert, Key: key, CA: cert}, io.Discard)
	for name, c := range map[string]struct {
		cert, key, want string
		refused         bool
	}{"none": {"", "", "", false}, "its own": {cert, key, "known", false}, "another's": {other, otherKey, "", true}} {
		config := &tls.Config{InsecureSkipVerify: true}
		if c.cert != "" {
			pair, err := tls.LoadX509KeyPair(c.cert, c.key)
			if err != nil {
				t.Fatal(err)
			}
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		}
		transport := &http.Transport{TLSClientConfig: config}
		answer, err := (&http.Client{Transport: transport}).Get("https://" + address)
		if (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if body, err := io.ReadAll(answer.Body); err != nil || string(body) != c.want {
				t.Errorf("%s: %q, %v", name, body, err)
			}
			answer.Body.Close()
		}
		transport.CloseIdleConnections()
	}
}

func TestServerFiles(t *testing.T) {
	cert, key := writePair(t)
	for want, files := range map[string]tlsfile.Server{
		"no such file":           {Cert: "missing.pem", Key: key},
		"cert, key: ":            {Cert: cert, Key: cert},
		"cert: open no.pem: ":    {Cert: "no.pem", Key: key},
		"key: open no.pem: ":     {Cert: cert, Key: "no.pem"},
		"holds no certificate":   {Cert: cert, Key: key, CA: key},
		"ca: given without cert": {CA: cert},
		"key: empty":             {Cert: cert},
	} {
		if _, err := tlsfile.NewReloader(files, slog.Default()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", files, err, want)
		}
	}
}
