package tlsfile_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/tlsfile"
)

// writePair creates a self-signed certificate and its key.
func writePair(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", keyDER)
}

func load(files tlsfile.Files) (*tls.Config, error) {
	c, err := tlsfile.NewClient(files, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return c.Config(), nil
}

func TestLoad(t *testing.T) {
	cert, key := writePair(t)
	for _, c := range []struct {
		name      string
		files     tlsfile.Files
		ca, shows bool
	}{
		{"the system's authorities", tlsfile.Files{}, false, false},
		{"an authority", tlsfile.Files{CA: cert}, true, false},
		{"mutual TLS", tlsfile.Files{CA: cert, Cert: cert, Key: key}, true, true},
	} {
		config, err := load(c.files)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if config.MinVersion != tls.VersionTLS12 || (config.RootCAs != nil) != c.ca || (len(config.Certificates) == 1) != c.shows {
			t.Errorf("%s: %+v", c.name, config)
		}
	}
}

func TestLoadNamesTheKeyAtFault(t *testing.T) {
	cert, key := writePair(t)
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe") // without a writer, on which a reader would wait
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, files := range map[string]tlsfile.Files{
		"ca: open " + pipe + ": it is a named pipe":       {CA: pipe},
		"cert: open " + pipe + ": it is a named pipe":     {Cert: pipe, Key: key},
		"key: open " + pipe + ": it is a named pipe":      {Cert: cert, Key: pipe},
		"ca: open missing.pem":                            {CA: "missing.pem"},
		"ca: " + text + " holds no certificate":           {CA: text},
		"key: empty, but cert is given":                   {Cert: cert},
		"cert: empty, but key is given":                   {Key: key},
		"cert, key: " + text + " with " + key + ": tls: ": {Cert: text, Key: key},
		"cert: open missing.pem: no such f":               {Cert: "missing.pem", Key: key},
	} {
		if _, err := load(files); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", files, err, want)
		}
	}
}

// A renewed client certificate is used from the next connection on; files that do not match leave the previous one in use.
func TestAClientShowsARenewedCertificate(t *testing.T) {
	cert, key := writePair(t)
	newCert, newKey := writePair(t)
	files := tlsfile.Files{Cert: cert, Key: key}
	config, err := load(files)
	if err != nil {
		t.Fatal(err)
	}
	shown := func() string {
		t.Helper()
		pair, err := config.GetClientCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(pair.Certificate[0])
	}
	replace := func(to, from string) {
		t.Helper()
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, text, 0o600)
		}
		if err == nil {
			err = os.Chtimes(to, time.Time{}, time.Now().Add(time.Minute))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	first := shown()
	replace(cert, newCert)
	if shown() != first {
		t.Error("a certificate without its key is shown")
	}
	replace(key, newKey)
	second := shown()
	if second == first {
		t.Error("the renewed certificate is not shown")
	}
	if err := os.Remove(cert); err != nil {
		t.Fatal(err)
	}
	if shown() != second {
		t.Error("without its file, the certificate is not shown any more")
	}
}
