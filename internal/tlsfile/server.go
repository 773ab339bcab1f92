package tlsfile

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
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

// recheck is the minimum interval between checks of the files.
const recheck = time.Second

// Reloader provides the TLS configuration of connections from files that are reloaded when they change. Invalid
// files, such as a certificate whose key has not been written yet, are ignored until they are valid.
type Reloader struct {
	files Server
	log   *slog.Logger
	now   func() time.Time

	mu      sync.Mutex // guards the fields below
	config  *tls.Config
	stamps  [3]stamp
	checked time.Time
	fault   string
}

type stamp struct {
	modified time.Time
	size     int64
}

// NewReloader loads the files.
func NewReloader(files Server, log *slog.Logger) (*Reloader, error) {
	r := &Reloader{files: files, log: log, now: time.Now}
	if err := files.Validate(); err != nil {
		return nil, err
	}
	var err error
	if r.stamps, err = look(r.files.Cert, r.files.Key, r.files.CA); err != nil {
		return nil, err
	}
	r.config, err = r.load()
	return r, err
}

// Config returns the configuration of a listener: each connection gets the current certificate.
func (r *Reloader) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.current(), nil }}
}

// look returns the stamps of the files cert, key and ca, as many as are given.
func look(paths ...string) (stamps [3]stamp, err error) {
	for i, path := range paths {
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return stamps, fmt.Errorf("%s: %w", [...]string{"cert", "key", "ca"}[i], err)
		}
		stamps[i] = stamp{info.ModTime(), info.Size()}
	}
	return stamps, nil
}

func (r *Reloader) load() (*tls.Config, error) {
	files := Files{Cert: r.files.Cert, Key: r.files.Key}
	config, err := files.Load()
	if err != nil {
		return nil, err
	}
	config.NextProtos = []string{"h2", "http/1.1"}
	if r.files.CA == "" {
		return config, nil
	}
	pem, err := os.ReadFile(r.files.CA)
	if err != nil {
		return nil, fmt.Errorf("ca: %w", err)
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
	if !config.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("ca: %s holds no certificate in PEM form", r.files.CA)
	}
	return config, nil
}

// current returns the configuration of the current files, or of the last valid ones.
func (r *Reloader) current() *tls.Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if now.Sub(r.checked) < recheck {
		return r.config
	}
	r.checked = now
	stamps, err := look(r.files.Cert, r.files.Key, r.files.CA)
	if err == nil && stamps == r.stamps && r.fault == "" {
		return r.config
	}
	var config *tls.Config
	if err == nil {
		config, err = r.load()
	}
	if err != nil {
		if r.fault != err.Error() {
			r.log.Warn("tls: certificate not readable, the previous one stays in use", "error", err)
		}
		r.fault = err.Error()
		return r.config
	}
	r.config, r.stamps, r.fault = config, stamps, ""
	r.log.Info("tls: certificate reloaded", "cert", r.files.Cert)
	return r.config
}
