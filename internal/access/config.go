// Package access authenticates and authorises HTTP clients. A Guard is a middleware before the handlers: it
// identifies clients by tokens, browser sessions, headers of trusted proxies and client certificates; it limits
// request rates and body sizes, rejects cross-origin requests (CSRF), and sets security headers. Handlers get the
// client's role from Of.
package access

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/giverny/giverny/internal/faults"
)

// Config says who has access. Without tokens, proxies and certificates only a loopback listener is open.
type Config struct {
	// Give full access to everyone who can reach the listener, even if it is not on a loopback address.
	Insecure bool `yaml:"insecure"`
	// A file of tokens: lines of NAME ROLE sha256:HEX, as printed by "giverny token"; reloaded when it changes.
	Tokens string `yaml:"tokens"`
	// Proxies that authenticate users (OpenID Connect) and pass their names in headers.
	Proxies Proxies `yaml:"proxies"`
	// The role of clients with a certificate signed by http.tls.ca: viewer, operator or admin.
	CertificateRole Role `yaml:"certificate_role"`
	// How long a browser stays logged in.
	Session time.Duration `yaml:"session"`
	// Limits of one client.
	Limits Limits `yaml:"limits"`
}

// Proxies that authenticate users.
type Proxies struct {
	// Their addresses, such as 10.1.2.0/24; headers from other addresses are ignored.
	From []string `yaml:"from"`
	// The header with the name of the user.
	UserHeader string `yaml:"user_header"`
	// The header with the groups of the user, separated by commas.
	GroupsHeader string `yaml:"groups_header"`
	// The role of every user that they authenticate: viewer, operator or admin.
	Role Role `yaml:"role"`
	// Groups whose users are operators.
	Operators []string `yaml:"operators"`
	// Groups whose users are admins.
	Admins []string `yaml:"admins"`
}

// Limits of one client: a token's name or a proxy's user, else an IP address (for IPv6 its /64).
type Limits struct {
	// Average number of requests per second; excess ones are answered with 429, except a scheduler's (/feedback/).
	RequestsPerSecond float64 `yaml:"requests_per_second"`
	// Number of requests in a burst.
	Burst int `yaml:"burst"`
	// Number of wrong tokens, at logins too, per minute and address; further ones are answered with 429.
	FailuresPerMinute int `yaml:"failures_per_minute"`
	// Maximum size of a request body, in bytes.
	BodyBytes int64 `yaml:"body_bytes"`
}

// DefaultConfig gives open access on loopback and none elsewhere.
func DefaultConfig() Config {
	return Config{Session: 12 * time.Hour, Proxies: Proxies{UserHeader: "X-Forwarded-User", GroupsHeader: "X-Forwarded-Groups"},
		Limits: Limits{RequestsPerSecond: 100, Burst: 400, FailuresPerMinute: 10, BodyBytes: 4 << 20}}
}

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	_, err := c.Proxies.prefixes()
	f.Check(err == nil, "proxies.from", "%v", err)
	f.Check(len(c.Proxies.From) == 0 || c.Proxies.UserHeader != "", "proxies.user_header", "empty; want the header in which the proxy passes the user name")
	f.Check(c.Session >= time.Minute, "session", "%v: want at least 1m", c.Session)
	f.Check(c.Limits.RequestsPerSecond > 0, "limits.requests_per_second", "%v: want more than 0", c.Limits.RequestsPerSecond)
	f.Check(c.Limits.Burst >= 1, "limits.burst", "%d: want at least 1", c.Limits.Burst)
	f.Check(c.Limits.FailuresPerMinute >= 1, "limits.failures_per_minute", "%d: want at least 1", c.Limits.FailuresPerMinute)
	f.Check(c.Limits.BodyBytes >= 1024, "limits.body_bytes", "%d: want at least 1024", c.Limits.BodyBytes)
	f.Check(!c.Insecure || c.Tokens == "" && len(c.Proxies.From) == 0, "insecure", "true, but tokens or proxies are given; choose one")
	return f.Err()
}

func (p *Proxies) prefixes() (list []netip.Prefix, err error) {
	for _, text := range p.From {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			address, single := netip.ParseAddr(text)
			if single != nil {
				return nil, fmt.Errorf("%q: want addresses, such as 10.1.2.0/24", text)
			}
			prefix = netip.PrefixFrom(address, address.BitLen())
		}
		list = append(list, prefix.Masked())
	}
	return list, nil
}

// CheckAddress rejects a listener that other hosts can reach if no client can be identified. certificates
// says that the listener requests client certificates.
func (c *Config) CheckAddress(listen string, certificates bool) error {
	if c.Insecure || c.Tokens != "" || len(c.Proxies.From) > 0 || certificates || isLoopback(listen) {
		return nil
	}
	return fmt.Errorf("listen: %s is not a loopback address, and no access is configured: set http.access.tokens (see giverny token), http.access.proxies or http.tls.ca; listen on 127.0.0.1; or set http.access.insecure: true", listen)
}

// isLoopback reports whether only this host can reach an address with a port.
func isLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
