package access

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/giverny/giverny/internal/plainfile"
	"github.com/giverny/giverny/internal/reload"
	"github.com/giverny/giverny/internal/secret"
)

// token is a line of the tokens file. Tokens are long and random, so a plain hash is safe.
type token struct {
	name string
	role Role
	hash [sha256.Size]byte
}

const hashPrefix = "sha256:"

// parseTokens parses a tokens file. Errors name the line.
func parseTokens(text []byte) (list []token, err error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 3 {
			return nil, fmt.Errorf("line %d: want NAME ROLE sha256:HEX", n)
		}
		t := token{name: fields[0]}
		if err := t.role.UnmarshalText([]byte(fields[1])); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		digits, isHash := strings.CutPrefix(fields[2], hashPrefix)
		sum, err := hex.DecodeString(digits)
		if !isHash || err != nil || len(sum) != len(t.hash) { // do not print the field: it may be a token
			return nil, fmt.Errorf("line %d: want sha256: and %d hexadecimal digits; giverny token prints such a line", n, 2*len(t.hash))
		}
		copy(t.hash[:], sum)
		list = append(list, t)
	}
	return list, lines.Err()
}

// tokenBytes is the length of a token before encoding.
const tokenBytes = 32

// NewToken returns a new token and its line for the tokens file.
func NewToken(name string, role Role) (t secret.Text, line string, err error) {
	if strings.ContainsAny(name, "# \t\r\n") || name == "" {
		return t, "", fmt.Errorf("name %q: want one word without #", name)
	}
	var b [tokenBytes]byte
	_, _ = rand.Read(b[:]) // never fails
	text := "gvy_" + base64.RawURLEncoding.EncodeToString(b[:])
	sum := sha256.Sum256([]byte(text))
	return secret.NewText(text), fmt.Sprintf("%s %s %s%s", name, role, hashPrefix, hex.EncodeToString(sum[:])), nil
}

// tokenFile is the tokens, reloaded when the file changes.
type tokenFile struct {
	path string

	mu   sync.Mutex // guards the fields below
	file reload.Files
	list []token
}

// openTokens reads the file.
func openTokens(path string) (*tokenFile, error) {
	t := &tokenFile{path: path}
	t.file = reload.Files{Paths: []string{path}, Load: t.load}
	_, err := t.file.Read()
	return t, err
}

// load reads the file. On error the tokens stay as they were, but a deleted file means no tokens.
func (t *tokenFile) load() error {
	info, err := os.Stat(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		t.list = nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is writable by others than its owner (%v); run chmod go-w on it", t.path, info.Mode().Perm())
	}
	text, err := plainfile.Read(t.path)
	if err != nil {
		return err
	}
	list, err := parseTokens(text)
	if err != nil {
		return fmt.Errorf("%s: %w", t.path, err)
	}
	t.list = list
	return nil
}

// reload reloads a changed file; a new error is returned once.
func (t *tokenFile) reload(now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := t.file.Refresh(now)
	return err
}

// find returns the token with this text. All are compared, each in constant time.
func (t *tokenFile) find(text string) (found token, ok bool) {
	sum := sha256.Sum256([]byte(text))
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.list {
		if subtle.ConstantTimeCompare(one.hash[:], sum[:]) == 1 {
			found, ok = one, true
		}
	}
	return found, ok
}

// has reports whether a token is still valid, and so the sessions that began with it.
func (t *tokenFile) has(want token) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Contains(t.list, want)
}
