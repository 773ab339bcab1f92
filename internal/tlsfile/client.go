package tlsfile

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"

	"github.com/giverny/giverny/internal/reload"
)

// Client makes TLS connections with the files as they are at that time: authorities and certificates are renewed. While the
// files cannot be read, the previous ones stay in use.
type Client struct {
	dialer net.Dialer

	mu     sync.Mutex // guards the fields below
	files  reload.Files
	config *tls.Config
}

// NewClient loads the files.
func NewClient(names Files) (*Client, error) {
	c := &Client{}
	c.files = reload.Files{Paths: []string{names.CA, names.Cert, names.Key}, Load: func() error {
		config, err := names.Load()
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
	_, _ = c.files.Read() // on error, the previous files are still the best
	return c.config
}

// Over returns a TLS connection to the host of an address; the first write does the handshake.
func (c *Client) Over(conn net.Conn, address, serverName string) net.Conn {
	own := c.Config().Clone()
	if own.ServerName = serverName; serverName == "" {
		own.ServerName, _, _ = net.SplitHostPort(address)
	}
	return tls.Client(conn, own)
}

// Use makes a transport of HTTP connect with the files.
func (c *Client) Use(t *http.Transport) *http.Transport {
	t.TLSClientConfig = c.Config() // through a proxy, which does not use the next line
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
	mu    sync.Mutex // guards the fields below
	files reload.Files
	pair  *tls.Certificate
}

func newClientPair(files Files, pair *tls.Certificate) *clientPair {
	p := &clientPair{pair: pair}
	p.files = reload.Files{Paths: []string{files.Cert, files.Key}, Load: func() error {
		pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
		if err == nil {
			p.pair = &pair
		}
		return err
	}}
	return p
}

// current has the type of tls.Config's GetClientCertificate.
func (p *clientPair) current(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = p.files.Read() // on error, the previous certificate is still the best
	return p.pair, nil
}
