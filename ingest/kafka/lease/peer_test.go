package lease_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/kafka/lease"
	"github.com/giverny/giverny/internal/test/journal"
)

// link is a peer's connection to the broker, which a test can break.
type link struct {
	*broker

	mu        sync.Mutex
	heartbeat func() error // replaces the broker's answer; nil: the real one
	join      func() error
	sync      func() error
	leave     func() error
}

func (l *link) set(f func(l *link)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l)
}

func (l *link) ask(which func(l *link) func() error) error {
	l.mu.Lock()
	f := which(l)
	l.mu.Unlock()
	if f == nil {
		return nil
	}
	return f()
}

func (l *link) Heartbeat(ctx context.Context, m kafka.Member) error {
	if err := l.ask(func(l *link) func() error { return l.heartbeat }); err != nil {
		return err
	}
	return l.broker.Heartbeat(ctx, m)
}

func (l *link) Join(ctx context.Context, self kafka.GroupMember) (kafka.Joined, error) {
	if err := l.ask(func(l *link) func() error { return l.join }); err != nil {
		return kafka.Joined{}, err
	}
	return l.broker.Join(ctx, self)
}

func (l *link) Sync(ctx context.Context, m kafka.Member, assignment map[string][]int) ([]int, error) {
	if err := l.ask(func(l *link) func() error { return l.sync }); err != nil {
		return nil, err
	}
	return l.broker.Sync(ctx, m, assignment)
}

func (l *link) Leave(ctx context.Context, m kafka.Member) error {
	if err := l.ask(func(l *link) func() error { return l.leave }); err != nil {
		return err
	}
	return l.broker.Leave(ctx, m)
}

func cutOff() error { return errCut }

// peer is a process that shares fabrics, in a synctest bubble. It holds what it
// gets, and takes some time to release it.
type peer struct {
	*holder
	link *link
	log  *journal.Journal
}

// bubbleClock is boot.Clock in a synctest bubble; it starts now.
func bubbleClock() func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Hour + time.Since(began) }
}

// newGroup returns a peer's group.
func newGroup(l *link, log *journal.Journal, names map[int]string) *lease.Group {
	return lease.New(l, session, names, bubbleClock(), slog.New(slog.NewTextHandler(log, nil)))
}

func join(b *broker, fabrics int, slow time.Duration) *peer {
	p := &peer{link: &link{broker: b}, log: &journal.Journal{}}
	p.holder = startHolder(newGroup(p.link, p.log, fabricNames(fabrics)), fabrics, slow)
	return p
}

// fabricNames returns f0, f1 and so on.
func fabricNames(n int) map[int]string {
	names := map[int]string{}
	for f := range n {
		names[f] = fmt.Sprint("f", f)
	}
	return names
}

// writers counts the peers that would write for a fabric now.
func writers(peers []*peer, fabric int) (n int) {
	for _, p := range peers {
		if p.may(fabric) {
			n++
		}
	}
	return n
}

// oneWriter checks, for a while of the bubble's time, that no fabric has two writers.
func oneWriter(t *testing.T, peers []*peer, fabrics int, for_ time.Duration) {
	t.Helper()
	for end := time.Now().Add(for_); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		synctest.Wait() // all events of this instant have happened
		for f := range fabrics {
			if n := writers(peers, f); n > 1 {
				for i, p := range peers {
					t.Logf("process %d:\n%s", i, p.log)
				}
				t.Fatalf("%d processes would write for fabric %d", n, f)
			}
		}
	}
}

func counts(peers []*peer) (n []int) {
	for _, p := range peers {
		n = append(n, p.count())
	}
	return n
}
