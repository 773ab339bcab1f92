//go:build integration

package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/test/apachekafka"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/internal/test/freeport"
	"github.com/giverny/giverny/internal/test/proc"
	"github.com/giverny/giverny/internal/test/repo"
)

// Kafka, the store and Giverny's own server all demand or know client certificates; there is no other login.
func TestMutualTLSEverywhere(t *testing.T) {
	dir := t.TempDir()
	certs := apachekafka.NewCertificates(t, dir)
	own := filepath.Join(dir, "broker.pem") // certificate and key of a server
	broker := apachekafka.Start(t, apachekafka.Options{TLS: apachekafka.MutualTLS})
	s := &sharing{t: t, dir: dir, broker: broker}
	s.startEngine()
	front := secureFront(t, s, certs, own)
	binary := filepath.Join(dir, "giverny")
	build := exec.Command("go", "build", "-o", binary, "./cmd/giverny")
	build.Dir = repo.Dir(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build giverny: %v\n%s", err, out)
	}
	for _, role := range []string{"analyze", "serve"} {
		address, k := freeport.Addr(t), broker.Certificates()
		text := fmt.Sprintf(`data_dir: %q
http: {listen: %q, tls: {cert: %q, key: %q, ca: %q}, access: {certificate_role: operator}, metrics: {listen: "127.0.0.1:0"}}
kafka: {embedded: false, brokers: [%q], tls: {enabled: true, ca: %q, cert: %q, key: %q}}
store: {embedded: false, url: %q, ca: %q, cert: %q, key: %q}
fabrics: [{name: f, topology: "torus:4x4x4", interval: 1s}]
`, filepath.Join(dir, role), address, own, own, certs.CAFile, broker.Addr(), k.CAFile, k.ClientCert, k.ClientKey, front+"/giverny?compress=none", certs.CAFile, certs.ClientCert, certs.ClientKey)
		config := filepath.Join(dir, role+".yaml")
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(binary, role, "--config", config)
		cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIVERNY_") })
		process, err := proc.Start(cmd, filepath.Join(dir, role+".log"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(process.Kill)
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: certs.ClientTLS(t)}, Timeout: 10 * time.Second}
		checkKnown(t, client, "https://"+address, role, process)
		client.CloseIdleConnections()
		checkStrangers(t, certs, "https://"+address, role)
	}
}

// secureFront is an HTTPS address of the store that demands a client certificate, as a ClickHouse server with
// verificationMode strict does.
func secureFront(t *testing.T, s *sharing, certs *apachekafka.Certificates, own string) string {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(own, own)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := os.ReadFile(certs.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(authority)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "engine"})
	proxy.Transport = &http.Transport{DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		return s.engine.DialContext(ctx, address)
	}}
	front := httptest.NewUnstartedServer(proxy)
	front.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert}
	front.StartTLS()
	t.Cleanup(front.Close)
	return front.URL
}

// checkKnown waits until a client with a certificate sees neither Kafka nor the store among the faults of a process.
func checkKnown(t *testing.T, client *http.Client, base, role string, process *proc.Process) {
	t.Helper()
	said := ""
	if !await.Holds(time.Minute, 200*time.Millisecond, func() bool {
		answer, err := client.Get(base + "/-/ready")
		if err != nil {
			said = err.Error()
			return false
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		said = string(text)
		var ready struct{ Faults map[string]string }
		return json.Unmarshal(text, &ready) == nil && ready.Faults != nil && ready.Faults["kafka"] == "" && ready.Faults["store"] == "" && ready.Faults["consumer group"] == ""
	}) {
		t.Errorf("%s: %s\n%s", role, said, process.LogTail(20))
	}
}

// checkStrangers: a client without a certificate has no name, and one with a certificate of another authority is rejected.
func checkStrangers(t *testing.T, certs *apachekafka.Certificates, base, role string) {
	t.Helper()
	without := certs.ClientTLS(t)
	without.Certificates = nil
	foreign := certs.ClientTLS(t)
	other := apachekafka.NewCertificates(t, t.TempDir())
	pair, err := tls.LoadX509KeyPair(other.ClientCert, other.ClientKey)
	if err != nil {
		t.Fatal(err)
	}
	foreign.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	for name, config := range map[string]*tls.Config{"without a certificate": without, "of another authority": foreign} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}, Timeout: 10 * time.Second}
		answer, err := client.Get(base + "/api/v1/fabrics")
		switch {
		case name == "of another authority" && err == nil:
			t.Errorf("%s: a certificate of another authority was accepted", role)
		case name == "without a certificate" && err != nil:
			t.Errorf("%s: %v", role, err)
		case err == nil:
			if role == "serve" && answer.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s: a client without a certificate: %s", role, answer.Status)
			}
			answer.Body.Close()
		}
		client.CloseIdleConnections()
	}
}
