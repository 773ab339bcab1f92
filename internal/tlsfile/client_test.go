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
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"giverny.example"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// Requests take the proxy that the environment names, HTTPS by a tunnel with the files, and none for the loopback interface and
// for what NO_PROXY names. The standard library reads the environment once, so this is a process of its own.
func TestProxyOfTheEnvironment(t *testing.T) {
	const caFile, direct = "GIVERNY_TEST_CA", "GIVERNY_TEST_DIRECT"
	if file := os.Getenv(caFile); file != "" {
		connections, err := tlsfile.NewClient(tlsfile.Files{CA: file}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: connections.Use(&http.Transport{})}
		for address, reached := range map[string]bool{"https://giverny.example/": true, "http://giverny.example/": true, os.Getenv(direct): true, "http://giverny.invalid/": false} {
			answer, err := client.Get(address)
			if err == nil {
				answer.Body.Close()
			}
			if (err == nil) != reached {
				t.Errorf("%s: %v", address, err)
			}
		}
		return
	}
	pair, authority := issue(t)
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	server := httptest.NewUnstartedServer(ok)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	defer server.Close()
	plain := httptest.NewServer(ok)
	defer plain.Close()
	var mu sync.Mutex
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.Host)
		mu.Unlock()
		if r.Method != http.MethodConnect {
			return
		}
		to, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer to.Close()
		from, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer from.Close()
		io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		go io.Copy(to, from)
		io.Copy(from, to)
	}))
	defer proxy.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	again.Env = append(os.Environ(), caFile+"="+file, direct+"="+plain.URL, "HTTPS_PROXY="+proxy.URL, "HTTP_PROXY="+proxy.URL, "NO_PROXY=giverny.invalid")
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	slices.Sort(asked)
	if want := []string{"CONNECT giverny.example:443", "GET giverny.example"}; !slices.Equal(asked, want) {
		t.Errorf("the proxy is asked %v, want %v", asked, want)
	}
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
	get("another name", strings.Replace(server.URL, "127.0.0.1", "localhost", 1), "not localhost")
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
	get("another name", strings.Replace(server.URL, "127.0.0.1", "localhost", 1), "not localhost")
}
