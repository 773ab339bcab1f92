package access

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limiters are token buckets by client. They are kept in two generations: when the younger is full it becomes the
// older, and those that were not asked for since are forgotten.
type limiters struct {
	limit rate.Limit
	burst int

	mu           sync.Mutex // guards what follows
	young, older map[string]*rate.Limiter
}

// maxClients is how many a generation has.
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

// take reports whether a client may have one more, and else after how long.
func (l *limiters) take(client string, now time.Time) (wait time.Duration, ok bool) {
	r := l.of(client).ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return wait, false
	}
	return 0, true
}

// spent reports whether a client has none left, without taking one.
func (l *limiters) spent(client string, now time.Time) bool {
	return l.of(client).TokensAt(now) < 1
}

// addressOf is the client's address by which it is limited.
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
