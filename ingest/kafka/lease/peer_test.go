package lease_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/internal/test/journal"

	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/kafka/lease"
)

// link is a peer's way to the broker, which a test can break.
type link struct {
	*broker

	mu        sync.Mutex
	heartbeat func() error // in the place of the broker's answer; nil: its own
	join      func() error
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

func (l *link) Leave(ctx context.Context, m kafka.Member) error {
	if err := l.ask(func(l *link) func() error { return l.leave }); err != nil {
		return err
	}
	return l.broker.Leave(ctx, m)
}

func cutOff() error { return errCut }

// peer is a process that shares fabrics, in a synctest bubble. It holds what it is
// given, and needs some time to let go.
type peer struct {
	link   *link
	group  *lease.Group
	leases []*lease.Lease
	log    *journal.Journal
	slow   time.Duration // from being asked to give a fabric back to the release
	stop   context.CancelFunc
	ended  sync.WaitGroup

	mu    sync.Mutex
	owned map[int]bool // guarded by mu
}

func join(b *broker, fabrics int, slow time.Duration) *peer {
	p := &peer{link: &link{broker: b}, log: &journal.Journal{}, slow: slow, owned: map[int]bool{}}
	names := map[int]string{}
	for f := range fabrics {
		names[f] = fmt.Sprint("f", f)
	}
	began := time.Now()
	p.group = lease.New(p.link, session, names, func() time.Duration { return time.Hour + time.Since(began) }, slog.New(slog.NewTextHandler(p.log, nil)))
	for f := range fabrics {
		p.leases = append(p.leases, p.group.Of(f))
	}
	holding, stopHolding := context.WithCancel(context.Background())
	member, leave := context.WithCancel(context.Background())
	var holders sync.WaitGroup
	for f := range fabrics {
		holders.Go(func() { p.hold(holding, f) })
	}
	p.ended.Go(func() { _ = p.group.Run(member) })
	p.stop = sync.OnceFunc(func() {
		stopHolding()
		holders.Wait()
		leave()
		p.ended.Wait()
	})
	return p
}

func (p *peer) hold(ctx context.Context, fabric int) {
	for {
		owned, release, err := p.leases[fabric].Acquire(ctx)
		if err != nil {
			return
		}
		p.note(fabric, true)
		<-owned.Done()
		time.Sleep(p.slow) // finishes what it has begun
		p.note(fabric, false)
		release()
	}
}

func (p *peer) note(fabric int, owned bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.owned[fabric] = owned
}

func (p *peer) count() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, owned := range p.owned {
		if owned {
			n++
		}
	}
	return n
}

func (p *peer) may(fabric int) bool {
	_, done, err := p.leases[fabric].Guard(context.Background())
	if err != nil {
		return false
	}
	done()
	return true
}

// writers are the peers that would write for a fabric now.
func writers(peers []*peer, fabric int) (n int) {
	for _, p := range peers {
		if p.may(fabric) {
			n++
		}
	}
	return n
}

// oneWriter watches for a while of the bubble's time that no fabric has two.
func oneWriter(t *testing.T, peers []*peer, fabrics int, for_ time.Duration) {
	t.Helper()
	for end := time.Now().Add(for_); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		synctest.Wait() // what happens at this instant has happened
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
