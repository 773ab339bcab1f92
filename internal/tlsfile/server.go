package tlsfile

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/giverny/giverny/internal/plainfile"
	"github.com/giverny/giverny/internal/reload"
)

// Server has the TLS files of a server.
type Server struct {
	// Certificate and intermediate certificates, in PEM; empty: no TLS. Reloaded when it changes.
	Cert string `yaml:"cert"`
	// Key of the certificate, in PEM.
	Key string `yaml:"key"`
	// The certificate authorities for client certificates; empty: clients need no certificate.
	CA string `yaml:"ca"`
}

// Enabled reports whether TLS is on.
func (s *Server) Enabled() bool { return s.Cert != "" }

// Validate checks the names, without reading the files.
func (s *Server) Validate() error {
	files := Files{Cert: s.Cert, Key: s.Key}
	if s.CA != "" && s.Cert == "" {
		return errors.New("ca: given without cert and key; client certificates need TLS, so set all three")
	}
	return files.Validate()
}

// Reloader provides the TLS configuration of connections from files that are reloaded when they change. Invalid
// files, such as a certificate whose key has not been written yet, are ignored until they are valid.
type Reloader struct {
	names Server
	log   *slog.Logger

	mu     sync.Mutex // guards the fields below
	files  reload.Files
	config *tls.Config
}

// NewReloader loads the files.
func NewReloader(names Server, log *slog.Logger) (*Reloader, error) {
	if err := names.Validate(); err != nil {
		return nil, err
	}
	r := &Reloader{names: names, log: log}
	r.files = reload.Files{Paths: []string{names.Cert, names.Key, names.CA}, Load: r.load}
	_, err := r.files.Read()
	return r, err
}

// Config returns the configuration of a listener: each connection gets the current certificate.
func (r *Reloader) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.current(), nil }}
}

func (r *Reloader) load() error {
	files := Files{Cert: r.names.Cert, Key: r.names.Key}
	config, err := files.load(r.log)
	if err != nil {
		return err
	}
	config.NextProtos = []string{"h2", "http/1.1"}
	if r.names.CA != "" {
		pem, err := plainfile.Read(r.names.CA)
		if err != nil {
			return fmt.Errorf("ca: %w", err)
		}
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
		if !config.ClientCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("ca: %s holds no certificate in PEM form", r.names.CA)
		}
	}
	r.config = config
	return nil
}

// current returns the configuration of the current files, or of the last valid ones.
func (r *Reloader) current() *tls.Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch changed, err := r.files.Refresh(time.Now()); {
	case err != nil:
		r.log.Warn("tls: certificate not readable, the previous one stays in use", "error", err)
	case changed:
		r.log.Info("tls: certificate reloaded", "cert", r.names.Cert)
	}
	return r.config
}
