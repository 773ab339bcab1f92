package tlsfile

import (
	"crypto/tls"
	"sync"

	"github.com/giverny/giverny/internal/reload"
)

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
