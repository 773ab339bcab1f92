package tlsfile_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/tlsfile"
)

// issue returns a server's certificate for 127.0.0.1, and its authority in PEM form: itself.
func issue(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// A server renews its certificate with another authority: clients trust it as soon as their file does, without a restart, and
// only for the address that it names.
func TestAClientTrustsRenewedAuthorities(t *testing.T) {
	pair, authority := issue(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{Certificates: []tls.Certificate{pair}}, nil
	}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	trust := func(text []byte, age time.Duration) {
		t.Helper()
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	trust(authority, time.Hour)
	var logged bytes.Buffer
	connections, err := tlsfile.NewClient(tlsfile.Files{CA: file}, slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: connections.Use(&http.Transport{DisableKeepAlives: true})}
	get := func(what, address, want string) {
		t.Helper()
		answer, err := client.Get(address)
		if err == nil {
			answer.Body.Close()
		}
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	get("the first", server.URL, "")
	get("another name", strings.Replace(server.URL, "127.0.0.1", "localhost", 1), "to match localhost")
	pair, authority = issue(t)
	get("an authority that is not trusted yet", server.URL, "unknown authority")
	trust([]byte("half a file"), time.Minute)
	get("a file that is being written", server.URL, "unknown authority")
	get("the same file", server.URL, "unknown authority")
	if text := logged.String(); strings.Count(text, "tls: renewed files not readable, the previous ones stay in use") != 1 || !strings.Contains(text, file+" holds no certificate") {
		t.Errorf("the failed renewal is logged as\n%s", text)
	}
	trust(authority, 0)
	get("renewed", server.URL, "")
	if text := logged.String(); strings.Count(text, "tls: files reloaded") != 1 {
		t.Errorf("the renewal is logged as\n%s", text)
	}
	get("another name", strings.Replace(server.URL, "127.0.0.1", "localhost", 1), "to match localhost")
}
