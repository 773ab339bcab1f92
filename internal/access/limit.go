package access

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limiters are token buckets by client, bounded by two generations: when the young one is full it replaces the
// older one, and clients not seen since are forgotten.
type limiters struct {
	limit rate.Limit
	burst int

	mu           sync.Mutex // guards the fields below
	young, older map[string]*rate.Limiter
}

// maxClients is the size of a generation.
const maxClients = 10_000

func newLimiters(limit rate.Limit, burst int) *limiters {
	return &limiters{limit: limit, burst: burst, young: map[string]*rate.Limiter{}}
}

func (l *limiters) of(client string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := l.young[client]; one != nil {
		return one
	}
	one := l.older[client]
	if one == nil {
		one = rate.NewLimiter(l.limit, l.burst)
	}
	if len(l.young) >= maxClients {
		l.older, l.young = l.young, map[string]*rate.Limiter{}
	}
	l.young[client] = one
	return one
}

// take takes a token for a client, or returns how long to wait for one.
func (l *limiters) take(client string, now time.Time) (wait time.Duration, ok bool) {
	r := l.of(client).ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return wait, false
	}
	return 0, true
}

// addressOf returns the client's address, and the key for rate limiting by address.
func addressOf(remote string) (netip.Addr, string) {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return netip.Addr{}, remote
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}, host
	}
	address = address.Unmap().WithZone("")
	if address.Is6() {
		prefix, _ := address.Prefix(64)
		return address, prefix.String()
	}
	return address, address.String()
}
