// Package tlsfile builds TLS configurations of clients and servers from PEM files. A server's are reloaded when they
// change, and so is a client's certificate. Errors begin with the key of the faulty setting: ca, cert or key.
package tlsfile

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
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

// Load loads the files into a configuration for TLS 1.2 or later. A client shows the certificate that the files have at
// the time of a connection; their authorities are loaded once, unlike those of a Client.
func (f *Files) Load() (*tls.Config, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		pem, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca: %s holds no certificate in PEM form", f.CA)
		}
	}
	if f.Cert != "" {
		cert, err := os.ReadFile(f.Cert)
		if err != nil {
			return nil, fmt.Errorf("cert: %w", err)
		}
		key, err := os.ReadFile(f.Key)
		if err != nil {
			return nil, fmt.Errorf("key: %w", err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil { // err names neither file
			return nil, fmt.Errorf("cert, key: %s with %s: %w", f.Cert, f.Key, err)
		}
		config.Certificates = []tls.Certificate{pair}
		config.GetClientCertificate = newClientPair(*f, &pair).current
	}
	return config, nil
}
