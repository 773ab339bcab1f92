// Package tlsfile builds TLS configurations of clients and servers from PEM files. A server's are reloaded when they
// change, and so is a client's certificate. Errors begin with the key of the faulty setting: ca, cert or key.
package tlsfile

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"

	"github.com/giverny/giverny/internal/plainfile"
)

// Files are a client's CA and certificate. Empty ones are not used.
type Files struct {
	CA        string // certificate authorities to trust; empty: the system's
	Cert, Key string // client certificate for a server that requests one; both or neither
}

// Validate checks the names, without reading the files.
func (f *Files) Validate() error {
	switch {
	case f.Cert != "" && f.Key == "":
		return errors.New("key: empty, but cert is given; set both")
	case f.Cert == "" && f.Key != "":
		return errors.New("cert: empty, but key is given; set both")
	}
	return nil
}

// load loads the files into a configuration for TLS 1.2 or later. A client shows the certificate that the files have at
// the time of a connection; their authorities are loaded once.
func (f *Files) load(log *slog.Logger) (*tls.Config, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		pem, err := plainfile.Read(f.CA)
		if err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca: %s holds no certificate in PEM form", f.CA)
		}
	}
	if f.Cert != "" {
		p, err := newClientPair(*f, log)
		if err != nil {
			return nil, err
		}
		config.Certificates, config.GetClientCertificate = []tls.Certificate{*p.pair}, p.current
	}
	return config, nil
}

// pair loads the certificate with its key.
func (f *Files) pair() (pair tls.Certificate, err error) {
	cert, err := plainfile.Read(f.Cert)
	if err != nil {
		return pair, fmt.Errorf("cert: %w", err)
	}
	key, err := plainfile.Read(f.Key)
	if err != nil {
		return pair, fmt.Errorf("key: %w", err)
	}
	if pair, err = tls.X509KeyPair(cert, key); err != nil { // err names neither file
		return pair, fmt.Errorf("cert, key: %s with %s: %w", f.Cert, f.Key, err)
	}
	return pair, nil
}
