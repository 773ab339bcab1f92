package command

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/internal/plainfile"
	"github.com/giverny/giverny/schema"
)

// signatureDomain begins every signed text, so that signatures for other purposes are not valid for commands.
const signatureDomain = "giverny.command.v1\n"

// signedText is the text covered by a signature: the command in canonical form, without the signature.
func signedText(c *schema.Command) ([]byte, error) {
	bare := *c
	bare.Signature = nil
	text, err := canonical(&bare)
	return append([]byte(signatureDomain), text...), err
}

// Signer is a principal or an agent with its private key, which no verb of package fmt prints.
type Signer struct {
	name string
	key  ed25519.PrivateKey
}

// Format prints the name only.
func (s Signer) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "signer %s", s.name) }

// NewSigner returns a signer with a key in memory.
func NewSigner(name string, key ed25519.PrivateKey) *Signer { return &Signer{name, key} }

// ReadSigner reads the key of a principal or an agent from a file, as made by CreateKey or openssl genpkey.
func ReadSigner(name, path string) (*Signer, error) {
	key, err := readKey(path)
	if err != nil {
		return nil, fmt.Errorf("key of %q: %w", name, err)
	}
	return NewSigner(name, key), nil
}

// Sign signs the command as the principal.
func (s *Signer) Sign(c *schema.Command) error {
	c.Principal = s.name
	text, err := signedText(c)
	if err != nil {
		return err
	}
	c.Signature = ed25519.Sign(s.key, text)
	return nil
}

// CreateKey generates a private key, writes it to a new file readable only by its owner, and returns the public key
// in the format of the configuration.
func CreateKey(path string) (public string, err error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", fmt.Errorf("make a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", fmt.Errorf("make a key: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%s exists: a key is never overwritten; choose another name", path)
	}
	if err != nil {
		return "", fmt.Errorf("write the key: %w", err)
	}
	err = pem.Encode(f, &pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		os.Remove(path) // else the next try would find it
		return "", fmt.Errorf("write the key: %w", plainfile.Naming(path, err))
	}
	return publicText(private), nil
}

// PublicKey returns the public key for a file with a private one.
func PublicKey(path string) (string, error) {
	key, err := readKey(path)
	if err != nil {
		return "", err
	}
	return publicText(key), nil
}

func publicText(key ed25519.PrivateKey) string {
	return base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
}

func readKey(path string) (ed25519.PrivateKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	text, err := plainfile.Read(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, fmt.Errorf("%s holds no PRIVATE KEY in PEM form; make one with: giverny agents key %s", path, path)
	}
	if info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("%s can be read by everybody on this host (mode %o); chmod 600 it, or make a new key if it may have leaked", path, info.Mode().Perm())
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s holds a key of another kind; want Ed25519", path)
	}
	return key, nil
}

// Keyring holds the principals' public keys. A principal may have several, the old and the new one during key
// rotation.
type Keyring map[string][]ed25519.PublicKey

// NewKeyring returns the keyring of valid principals.
func NewKeyring(principals []Principal) (Keyring, error) {
	ring := Keyring{}
	for _, p := range principals {
		for _, text := range p.Keys {
			key, err := parsePublic(text)
			if err != nil {
				return nil, fmt.Errorf("key of principal %q: %w", p.Name, err)
			}
			ring[p.Name] = append(ring[p.Name], key)
		}
	}
	return ring, nil
}

func parsePublic(text string) (ed25519.PublicKey, error) {
	key, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%.60q is not a public key: want the 44 letters that giverny agents key prints", text)
	}
	return key, nil
}

// Verify returns why the signature is not the principal's, or nil.
func (k Keyring) Verify(c *schema.Command) *safety.Refusal {
	keys, known := k[c.Principal]
	if !known {
		return safety.Refuse(UnknownPrincipal, "principal %q is not known here; add it to command.principals with its public key", c.Principal)
	}
	text, err := signedText(c)
	if err != nil {
		return safety.Refuse(Malformed, "%v", err)
	}
	if !slices.ContainsFunc(keys, func(key ed25519.PublicKey) bool { return ed25519.Verify(key, text, c.Signature) }) {
		return safety.Refuse(BadSignature, "the signature matches none of the %d known keys of principal %q; the command was modified, or command.principals lacks the key", len(keys), c.Principal)
	}
	return nil
}
