package command_test

import (
	"crypto/ecdh"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/giverny/giverny/command"
)

func TestKeyFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "operator.pem")
	public, err := command.CreateKey(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if again, err := command.PublicKey(path); err != nil || again != public {
		t.Errorf("public key %q of the file, %q when it was made: %v", again, public, err)
	}
	if _, err := command.CreateKey(path); err == nil || !strings.Contains(err.Error(), "never overwritten") {
		t.Errorf("made twice: %v", err)
	}
	signer, err := command.ReadSigner("operator", path)
	if err != nil {
		t.Fatal(err)
	}
	c := sample()
	if err := signer.Sign(&c); err != nil {
		t.Fatal(err)
	}
	keys, err := command.NewKeyring([]command.Principal{{Name: "operator", Keys: []string{public}}})
	if err != nil {
		t.Fatal(err)
	}
	if no := keys.Verify(&c); no != nil {
		t.Error(no)
	}
	if err := os.Chmod(path, 0o604); err != nil {
		t.Fatal(err)
	}
	if _, err := command.ReadSigner("operator", path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that all can read: %v", err)
	}
}

func TestOtherFilesAreNoKeys(t *testing.T) {
	const publicKey = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n"
	const rubbish = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
	other, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(other)
	if err != nil {
		t.Fatal(err)
	}
	x25519 := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	for name, c := range map[string]struct{ text, err string }{"empty": {"", "holds no PRIVATE KEY"}, "public": {publicKey, "holds no PRIVATE KEY"},
		"rubbish": {rubbish, "rubbish: "}, "x25519": {x25519, "want Ed25519"}} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := command.ReadSigner("operator", path); err == nil || !strings.Contains(err.Error(), "operator") || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v", name, err)
		}
		if public, err := command.PublicKey(path); err == nil {
			t.Errorf("%s: public key %s", name, public)
		}
	}
	missing := filepath.Join(t.TempDir(), "none", "key")
	if _, err := command.ReadSigner("operator", missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file is a key: %v", err)
	}
	if _, err := command.CreateKey(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a key in a missing directory: %v", err)
	}
}

func TestPublicKeysAreWhole(t *testing.T) {
	whole := public("operator")
	for name, text := range map[string]string{"short": whole[:40], "long": whole + "AAAA", "with more": whole + "!", "empty": ""} {
		if _, err := command.NewKeyring([]command.Principal{{Name: "operator", Keys: []string{whole, text}}}); err == nil {
			t.Errorf("a key that is %s is taken", name)
		}
	}
}

func TestKeysAreNotPrinted(t *testing.T) {
	key := testKey("water-lilies")
	signer := command.NewSigner("operator", key)
	if text := fmt.Sprint(signer); text != "signer operator" {
		t.Errorf("printed as %q", text)
	}
	secret := []string{hex.EncodeToString(key[:8]), strings.ToUpper(hex.EncodeToString(key[:8])), fmt.Sprint([]byte(key[:8]))[1:15], string(key[:8])}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%X", "%d", "%q", "%T%v"} {
		args := []any{signer}
		if verb == "%T%v" {
			args = append(args, *signer)
		}
		text := fmt.Sprintf(verb, args...)
		for _, s := range secret {
			if strings.Contains(text, s) {
				t.Errorf("%s prints the key", verb)
			}
		}
	}
	for _, verb := range []string{"%v", "%x", "%d"} {
		text := fmt.Sprintf(verb, struct{ S *command.Signer }{signer})
		for _, s := range secret {
			if strings.Contains(text, s) {
				t.Errorf("%s of a struct prints the key", verb)
			}
		}
	}
}

func TestConfigNamesEveryFault(t *testing.T) {
	fine := testConfig()
	if err := fine.Validate(); err != nil {
		t.Error(err)
	}
	off := command.DefaultConfig()
	if err := off.Validate(); err != nil || off.Enabled() {
		t.Errorf("the default: %v, enabled %v", err, off.Enabled())
	}
	bad := command.DefaultConfig()
	bad.Principals = []command.Principal{{Name: "a b"}, {Name: "x", Keys: []string{"short"}}, {Name: "x", Keys: []string{public("x")}}}
	bad.Limits.PerHour, bad.ClockTolerance, bad.MaxValidity, bad.Sign.Principal = 0, -1, 0, "me"
	alone := testConfig()
	alone.Principals = nil
	text := fmt.Sprint(bad.Validate(), "\n", alone.Validate())
	for _, key := range []string{"principals.0.name:", "principals.0.keys: empty", "principals.1.keys.0:", "principals.2.name:", "limits.per_hour: 0",
		"clock_tolerance: ", "max_validity: ", "sign: ", "allow: rules without principals"} {
		if !strings.Contains("\n"+text, "\n"+key) {
			t.Errorf("no line begins with %q in\n%s", key, text)
		}
	}
}

// A key that cannot be written, for lack of room, leaves no file in the way of the next try.
func TestAKeyWithoutRoom(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	full := limit
	full.Cur = 1
	path := filepath.Join(t.TempDir(), "operator.pem")
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		t.Fatal(err)
	}
	_, err := command.CreateKey(path)
	if restored := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); restored != nil {
		t.Fatal(restored)
	}
	if !errors.Is(err, syscall.EFBIG) {
		t.Fatal(err)
	}
	if _, err := command.CreateKey(path); err != nil {
		t.Error(err)
	}
}
