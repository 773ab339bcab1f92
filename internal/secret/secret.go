// Package secret holds what must not be printed: passwords, and URLs that carry
// one. A value is decoded from YAML or an environment variable, or read from a
// file, and shown by nothing but Reveal: fmt, encoding/json, YAML and log/slog
// print it struck out.
package secret

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// Redacted stands for a secret where it would be printed.
const Redacted = "***"

// Text is a secret text. It is behind a pointer, so that not even a struct that
// holds it in an unexported field prints it.
type Text struct{ hidden *string }

// NewText makes a secret of a text.
func NewText(s string) Text {
	if s == "" {
		return Text{}
	}
	return Text{&s}
}

// Reveal is the text.
func (t Text) Reveal() string {
	if t.hidden == nil {
		return ""
	}
	return *t.hidden
}

// IsSet reports whether there is something to hide.
func (t Text) IsSet() bool { return t.hidden != nil }

// String is *** for a text, and nothing for none.
func (t Text) String() string {
	if !t.IsSet() {
		return ""
	}
	return Redacted
}

// Format strikes the text out under every verb.
func (t Text) Format(f fmt.State, verb rune) { show(f, verb, t.String()) }

// MarshalText is what YAML and JSON print.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// LogValue is what log/slog prints.
func (t Text) LogValue() slog.Value { return slog.StringValue(t.String()) }

// UnmarshalText takes the text as it stands.
func (t *Text) UnmarshalText(text []byte) error {
	*t = NewText(string(text))
	return nil
}

// Or is the text, or the content of the file if that is named instead; a newline
// at the file's end is cut.
func (t Text) Or(file string) (string, error) {
	if file == "" {
		return t.Reveal(), nil
	}
	if t.IsSet() {
		return "", errors.New("given directly and by a file; choose one")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

// URL is an address that may carry a password.
type URL struct{ hidden Text }

// NewURL makes an address of a text.
func NewURL(s string) URL { return URL{NewText(s)} }

// Reveal is the address, its password included.
func (u URL) Reveal() string { return u.hidden.Reveal() }

// IsSet reports whether the address holds something to hide.
func (u URL) IsSet() bool { return u.String() != u.Reveal() }

// IsEmpty reports whether there is no address.
func (u URL) IsEmpty() bool { return !u.hidden.IsSet() }

// String is the address with its password struck out.
func (u URL) String() string { return withoutQuerySecrets(withoutPassword(u.Reveal())) }

// Format strikes the password out under every verb.
func (u URL) Format(f fmt.State, verb rune) { show(f, verb, u.String()) }

// MarshalText is what YAML and JSON print.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// LogValue is what log/slog prints.
func (u URL) LogValue() slog.Value { return slog.StringValue(u.String()) }

// UnmarshalText takes the address as it stands.
func (u *URL) UnmarshalText(text []byte) error {
	*u = NewURL(string(text))
	return nil
}

// show prints what may be seen: quoted where the verb asks for Go's syntax.
func show(f fmt.State, verb rune, text string) {
	if verb == 'q' || verb == 'v' && f.Flag('#') {
		text = fmt.Sprintf("%q", text)
	}
	_, _ = f.Write([]byte(text))
}

// withoutPassword strikes the password of scheme://user:password@host. It does
// not parse: an address of several hosts is no URL to the standard library.
func withoutPassword(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	end := strings.IndexAny(rest, "?#") // an unescaped / may stand in a password
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		at = strings.LastIndexByte(rest, '@') // so may a ? or #
	}
	if at < 0 {
		return url
	}
	user, _, ok := strings.Cut(rest[:at], ":")
	if !ok {
		return url
	}
	return scheme + "://" + user + ":" + Redacted + rest[at:]
}

// secretParameters are the words by which a parameter of an address is known to
// be secret.
var secretParameters = []string{"password", "secret", "token", "passwd"}

// withoutQuerySecrets strikes ?password=... and its like.
func withoutQuerySecrets(url string) string {
	base, query, ok := strings.Cut(url, "?")
	if !ok {
		return url
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		for _, word := range secretParameters {
			if value != "" && strings.Contains(strings.ToLower(name), word) {
				parts[i] = name + "=" + Redacted
			}
		}
	}
	return base + "?" + strings.Join(parts, "&")
}
