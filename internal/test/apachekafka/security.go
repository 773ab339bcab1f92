package apachekafka

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// Certificates are PEM files of a CA for one broker, and of its client, valid for an hour.
type Certificates struct {
	CAFile                string // what a client must trust
	ClientCert, ClientKey string // what a client shows to a broker with MutualTLS
}

// ClientTLS trusts the CA and has the client certificate.
func (c *Certificates) ClientTLS(tb testing.TB) *tls.Config {
	tb.Helper()
	authority, err := os.ReadFile(c.CAFile)
	if err != nil {
		tb.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(c.ClientCert, c.ClientKey)
	if err != nil {
		tb.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted, Certificates: []tls.Certificate{pair}}
}

// newTransport returns a transport for the listener, with any login.
func (b *Broker) newTransport(user, password string) *kafkago.Transport {
	transport := &kafkago.Transport{ClientID: "apachekafka", SASL: mechanism(b.tb, b.opts.SASL, user, password)}
	if b.certs != nil {
		transport.TLS = b.certs.ClientTLS(b.tb)
		if b.opts.TLS == ServerTLS {
			transport.TLS.Certificates = nil
		}
	}
	return transport
}

func mechanism(tb testing.TB, name SASL, user, password string) sasl.Mechanism {
	tb.Helper()
	var scramHash scram.Algorithm
	switch name {
	case NoSASL:
		return nil
	case Plain:
		return plain.Mechanism{Username: user, Password: password}
	case ScramSHA256:
		scramHash = scram.SHA256
	case ScramSHA512:
		scramHash = scram.SHA512
	default:
		tb.Fatalf("apachekafka knows no SASL mechanism %q", name)
	}
	login, err := scram.Mechanism(scramHash, user, password)
	if err != nil {
		tb.Fatal(err)
	}
	return login
}

// NewCertificates creates certificates of an authority of their own in a folder.
func NewCertificates(tb testing.TB, dir string) *Certificates {
	tb.Helper()
	certs, err := writeCertificates(dir)
	if err != nil {
		tb.Fatalf("make certificates for the broker: %v", err)
	}
	return certs
}

func writeCertificates(dir string) (*Certificates, error) {
	authority, err := newPair(1, "giverny test authority", nil)
	if err != nil {
		return nil, err
	}
	broker, err := newPair(2, "broker", authority)
	if err != nil {
		return nil, err
	}
	client, err := newPair(3, "client", authority)
	if err != nil {
		return nil, err
	}
	certs := &Certificates{
		CAFile:     filepath.Join(dir, truststoreFile),
		ClientCert: filepath.Join(dir, "client.pem"),
		ClientKey:  filepath.Join(dir, "client-key.pem"),
	}
	for path, text := range map[string][]byte{
		certs.CAFile:                     authority.certPEM,
		certs.ClientCert:                 client.certPEM,
		certs.ClientKey:                  client.keyPEM,
		filepath.Join(dir, keystoreFile): append(broker.keyPEM, broker.certPEM...), // both in one, as Kafka wants it
	} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, err
		}
	}
	return certs, nil
}

type pair struct {
	cert            *x509.Certificate
	key             *ecdsa.PrivateKey
	certPEM, keyPEM []byte
}

// newPair returns a key pair signed by the issuer, or, if that is nil, a self-signed CA.
func newPair(serial int64, name string, issuer *pair) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Minute),
		NotAfter:     time.Now().Add(time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:     []string{"localhost"},
	}
	parent, signer := template, key
	if issuer == nil {
		template.IsCA, template.BasicConstraintsValid = true, true
		template.KeyUsage |= x509.KeyUsageCertSign
	} else {
		parent, signer = issuer.cert, issuer.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, fmt.Errorf("sign %s: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", name, err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode the key of %s: %w", name, err)
	}
	return &pair{
		cert: cert, key: key,
		certPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		keyPEM:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
	}, nil
}
