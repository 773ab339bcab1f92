// Package secret holds values that must not be printed: passwords, and URLs that
// contain one. A value is decoded from YAML or an environment variable, or read from a
// file, and only Reveal returns it: fmt, encoding/json, YAML and log/slog print it
// redacted. It also makes requests whose errors do not print the address.
package secret

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/giverny/giverny/internal/plainfile"
)

// redacted is printed in place of a secret.
const redacted = "***"

// Text is a secret string. It is behind a pointer, so that it is not printed even as an
// unexported field of a struct.
type Text struct{ hidden *string }

// NewText returns a secret with the given text.
func NewText(s string) Text {
	if s == "" {
		return Text{}
	}
	return Text{&s}
}

// Reveal returns the text.
func (t Text) Reveal() string {
	if t.hidden == nil {
		return ""
	}
	return *t.hidden
}

// IsSet reports whether the text is not empty.
func (t Text) IsSet() bool { return t.hidden != nil }

// String returns *** for a non-empty text.
func (t Text) String() string {
	if !t.IsSet() {
		return ""
	}
	return redacted
}

// Format prints the text redacted under every verb.
func (t Text) Format(f fmt.State, verb rune) { show(f, verb, t.String()) }

// MarshalText is what YAML and JSON print.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// LogValue is what log/slog prints.
func (t Text) LogValue() slog.Value { return slog.StringValue(t.String()) }

// UnmarshalText sets the text.
func (t *Text) UnmarshalText(text []byte) error {
	*t = NewText(string(text))
	return nil
}

// Or returns the text, or the content of the file if one is named; a newline at its end
// is removed.
func (t Text) Or(file string) (string, error) {
	if file == "" {
		return t.Reveal(), nil
	}
	if t.IsSet() {
		return "", errors.New("given both directly and by a file; choose one")
	}
	b, err := plainfile.Read(file)
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

// URL is a URL that may contain a password.
type URL struct{ hidden Text }

// NewURL returns a URL with the given text.
func NewURL(s string) URL { return URL{NewText(s)} }

// Reveal returns the URL with its password.
func (u URL) Reveal() string { return u.hidden.Reveal() }

// IsSet reports whether the URL contains a secret.
func (u URL) IsSet() bool { return u.String() != u.Reveal() }

// IsEmpty reports whether there is no URL.
func (u URL) IsEmpty() bool { return !u.hidden.IsSet() }

// String returns the URL with its secrets redacted.
func (u URL) String() string { return withoutQuerySecrets(withoutPassword(u.Reveal())) }

// Format prints the URL redacted under every verb.
func (u URL) Format(f fmt.State, verb rune) { show(f, verb, u.String()) }

// MarshalText is what YAML and JSON print.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// LogValue is what log/slog prints.
func (u URL) LogValue() slog.Value { return slog.StringValue(u.String()) }

// UnmarshalText sets the URL.
func (u *URL) UnmarshalText(text []byte) error {
	*u = NewURL(string(text))
	return nil
}

// show prints a redacted text, quoted if the verb asks for Go syntax.
func show(f fmt.State, verb rune, text string) {
	if verb == 'q' || verb == 'v' && f.Flag('#') {
		text = fmt.Sprintf("%q", text)
	}
	_, _ = f.Write([]byte(text))
}

// withoutPassword redacts the password in scheme://user:password@host. It does not use
// net/url, which rejects URLs with several hosts.
func withoutPassword(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	end := strings.IndexAny(rest, "?#") // a password may contain an unescaped /
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		at = strings.LastIndexByte(rest, '@') // or a ? or #
	}
	if at < 0 {
		return url
	}
	user, _, ok := strings.Cut(rest[:at], ":")
	if !ok {
		return url
	}
	return scheme + "://" + user + ":" + redacted + rest[at:]
}

// secretParameters are substrings of the names of secret query parameters.
var secretParameters = []string{"password", "secret", "token", "passwd"}

// withoutQuerySecrets redacts parameters such as ?password=....
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
				parts[i] = name + "=" + redacted
			}
		}
	}
	return base + "?" + strings.Join(parts, "&")
}
