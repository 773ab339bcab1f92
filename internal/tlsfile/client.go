package tlsfile

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"github.com/giverny/giverny/internal/reload"
)

// Client makes TLS connections with the files as they are at that time: authorities and certificates are renewed. While the
// files cannot be read, the previous ones stay in use.
type Client struct {
	dialer net.Dialer
	log    *slog.Logger

	mu     sync.Mutex // guards the fields below
	files  reload.Files
	config *tls.Config
}

// NewClient loads the files.
func NewClient(names Files, log *slog.Logger) (*Client, error) {
	c := &Client{log: log}
	c.files = reload.Files{Paths: []string{names.CA}, Load: func() error { // the configuration renews the certificate itself
		config, err := names.load(log)
		if err == nil {
			c.config = config
		}
		return err
	}}
	_, err := c.files.Read()
	return c, err
}

// Config returns the configuration for a new connection; it must not be changed.
func (c *Client) Config() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	refresh(&c.files, c.log)
	return c.config
}

// refresh loads the files again if they have changed, and logs the outcome.
func refresh(files *reload.Files, log *slog.Logger) {
	switch changed, err := files.Read(); {
	case err != nil:
		log.Warn("tls: renewed files not readable, the previous ones stay in use", "error", err)
	case changed:
		log.Info("tls: files reloaded", "files", files.Paths)
	}
}

// Over returns a TLS connection to the host of an address; the first write does the handshake.
func (c *Client) Over(conn net.Conn, address, serverName string) net.Conn {
	own := c.Config().Clone()
	if own.ServerName = serverName; serverName == "" {
		own.ServerName, _, _ = net.SplitHostPort(address)
	}
	return tls.Client(conn, own)
}

// Use makes a transport of HTTP connect with the files, by the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name.
func (c *Client) Use(t *http.Transport) *http.Transport {
	if t.Proxy == nil {
		t.Proxy = http.ProxyFromEnvironment
	}
	t.TLSClientConfig = c.Config() // through a proxy, which does not use the next line, with the authorities of now
	t.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		dial := c.dialer.DialContext
		if t.DialContext != nil {
			dial = t.DialContext
		}
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return c.Over(conn, address, ""), nil
	}
	return t
}

// clientPair is a client's certificate, renewed when its files change: certificates of some authorities are valid for a
// day. While the files cannot be read or do not match each other, the previous one stays in use.
type clientPair struct {
	log *slog.Logger

	mu    sync.Mutex // guards the fields below
	files reload.Files
	pair  *tls.Certificate
}

func newClientPair(files Files, log *slog.Logger) (*clientPair, error) {
	p := &clientPair{log: log}
	p.files = reload.Files{Paths: []string{files.Cert, files.Key}, Load: func() error {
		pair, err := files.pair()
		if err == nil {
			p.pair = &pair
		}
		return err
	}}
	_, err := p.files.Read()
	return p, err
}

// current has the type of tls.Config's GetClientCertificate.
func (p *clientPair) current(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	refresh(&p.files, p.log)
	return p.pair, nil
}
