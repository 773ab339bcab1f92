package tlsfile

import (
	"crypto/tls"
	"sync"
)

// clientPair is a client's certificate, renewed when its files change: certificates of some authorities are valid for a
// day. While the files cannot be read or do not match each other, the previous one stays in use.
type clientPair struct {
	files Files

	mu     sync.Mutex // guards the fields below
	pair   *tls.Certificate
	stamps [3]stamp // of the files of pair; zero until the first connection, which reads them again
}

// current has the type of tls.Config's GetClientCertificate.
func (p *clientPair) current(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stamps, err := look(p.files.Cert, p.files.Key)
	if err != nil || stamps == p.stamps {
		return p.pair, nil
	}
	if pair, err := tls.LoadX509KeyPair(p.files.Cert, p.files.Key); err == nil {
		p.pair, p.stamps = &pair, stamps
	}
	return p.pair, nil
}
