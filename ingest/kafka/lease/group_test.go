package lease_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/kafka/lease"
	"github.com/giverny/giverny/internal/fence"
	"github.com/giverny/giverny/internal/test/journal"
)

const session = 6 * time.Second

// Peers that join, are cut off, come back, are expelled and leave, in random
// order: never do two write for one fabric, and once they settle each fabric has
// its writer and the shares are balanced. A coordinator expels only members that
// were silent for longer than a lease lasts; if an operator removes a live member
// by hand, it may write until its next heartbeat.
func TestRandomFaults(t *testing.T) {
	const fabrics = 10
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			b := newBroker(session)
			var peers []*peer
			defer func() {
				for _, p := range peers {
					p.link.set(func(l *link) { l.heartbeat, l.join = nil, nil })
					p.stop()
				}
				b.stop()
			}()
			for range 3 {
				peers = append(peers, join(b, fabrics, time.Duration(rng.Int64N(int64(session/2)))))
			}
			for range 12 {
				p := peers[rng.IntN(len(peers))]
				switch rng.IntN(4) {
				case 0:
					p.link.set(func(l *link) { l.heartbeat, l.join = cutOff, cutOff })
				case 1:
					p.link.set(func(l *link) { l.heartbeat, l.join = nil, nil })
				case 2:
					b.expel(fmt.Sprintf("member%02d", 1+rng.IntN(max(1, b.births()))))
					time.Sleep(session / 6) // a live member notices at its next heartbeat
				case 3:
					p.link.set(func(l *link) { l.heartbeat = cutOff }) // while it can join all the time
				}
				oneWriter(t, peers, fabrics, time.Duration(rng.Int64N(int64(2*session))))
			}
			for _, p := range peers {
				p.link.set(func(l *link) { l.heartbeat, l.join = nil, nil })
			}
			oneWriter(t, peers, fabrics, 8*session)
			for f := range fabrics {
				if n := writers(peers, f); n != 1 {
					t.Errorf("seed %d: %d processes write for fabric %d", seed, n, f)
				}
			}
			for i, n := range counts(peers) {
				if n < 3 || n > 4 {
					t.Errorf("seed %d: process %d of 3 has %d of %d fabrics", seed, i, n, fabrics)
				}
			}
		})
	}
}

func (b *broker) births() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.born
}

// A process that can no longer reach the group stops writing before its session
// ends, and the other one has its fabrics less than half a second later.
func TestTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(session)
		one := join(b, 4, 0)
		time.Sleep(session)
		other := join(b, 4, 0)
		defer b.stop()
		defer other.stop()
		defer one.stop()
		time.Sleep(session)
		if got := counts([]*peer{one, other}); got[0] != 2 || got[1] != 2 {
			t.Fatalf("owned by each of two: %v of 4", got)
		}
		one.link.set(func(l *link) { l.heartbeat, l.join = cutOff, cutOff })
		cut := time.Now()
		waitFor(t, "no more writes", session, func() bool { return !one.may(0) && !one.may(1) && !one.may(2) && !one.may(3) })
		stopped := time.Since(cut)
		waitFor(t, "taken over", 2*session, func() bool { return other.count() == 4 })
		taken := time.Since(cut)
		if stopped > session*4/5 || taken > session+session/6+500*time.Millisecond || stopped >= taken {
			t.Errorf("stopped writing after %v, taken over after %v; the session is %v", stopped, taken, session)
		}
		if text := one.log.String(); !strings.Contains(text, "not renewed in time") {
			t.Errorf("the log does not say why the fabrics were lost:\n%s", text)
		}
	})
}

// A process that has to give fabrics back continues to write until it has
// released them, and only then does the other one start.
func TestSlowHandover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(session)
		one := join(b, 2, session/2)
		time.Sleep(session)
		other := join(b, 2, 0)
		defer b.stop()
		defer other.stop()
		defer one.stop()
		time.Sleep(session / 3)
		if one.count() != 2 || other.count() != 0 || !one.may(0) || !one.may(1) {
			t.Fatalf("while one lets go: %v; it may write: %v, %v", counts([]*peer{one, other}), one.may(0), one.may(1))
		}
		oneWriter(t, []*peer{one, other}, 2, session)
		if got := counts([]*peer{one, other}); got[0] != 1 || got[1] != 1 {
			t.Errorf("after that: %v", got)
		}
	})
}

// Two holders in one process: the fabric goes to another process when both have
// released, and a holder whose tenure was lost may not write under the next one.
func TestTwoHolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(session)
		one := join(b, 2, 0)
		defer b.stop()
		defer one.stop()
		time.Sleep(session)
		second := one.group.Of(0)
		owned, release, err := second.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		other := join(b, 2, 0)
		defer other.stop()
		waitFor(t, "fabric 0 is asked back", session, func() bool { return owned.Err() != nil })
		time.Sleep(session / 2)
		if other.count() != 0 {
			t.Fatal("given to another before both holders have released")
		}
		if _, done, err := second.Guard(t.Context()); err != nil {
			t.Errorf("what is finished may not be written: %v", err)
		} else {
			done()
		}
		release()
		time.Sleep(session / 2)
		if got := counts([]*peer{one, other}); got[0] != 1 || got[1] != 1 {
			t.Errorf("after both have released: %v", got)
		}
		third := one.group.Of(1)
		stale, releaseStale, err := third.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.expel("member01")
		waitFor(t, "it is lost", session, func() bool { return stale.Err() != nil })
		waitFor(t, "it is back", 4*session, func() bool { return one.count() == 1 })
		if _, _, err := third.Guard(t.Context()); !errors.Is(err, kafka.ErrFenced) {
			t.Errorf("one who works under a tenure that is lost may write under the next: %v", err)
		}
		releaseStale()
		if _, err := one.group.Of(1).Fence(); !errors.Is(err, kafka.ErrFenced) {
			t.Errorf("a lease that has not been acquired has a fence: %v", err)
		}
	})
}

// A member that the group has expelled, or continued without, loses its fabrics
// at the next heartbeat, logs it, and rejoins.
func TestLost(t *testing.T) {
	for answer, says := range map[error]string{kafka.ErrExpelled: "declared this process dead", kafka.ErrGeneration: "rebalanced without this process"} {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker(session)
			p := join(b, 2, 0)
			defer b.stop()
			defer p.stop()
			time.Sleep(session)
			guard, done, err := p.leases[0].Guard(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer done()
			var once sync.Once
			p.link.set(func(l *link) {
				l.heartbeat = func() (err error) { once.Do(func() { err = answer }); return err }
			})
			waitFor(t, "the write that was under way is cut off", session, func() bool { return guard.Err() != nil })
			if text := p.log.String(); !strings.Contains(text, says) {
				t.Errorf("%v: the log does not say why:\n%s", answer, text)
			}
			time.Sleep(2 * session)
			if p.count() != 2 || !p.may(0) || !p.may(1) {
				t.Errorf("%v: %d of 2 fabrics are back", answer, p.count())
			}
		})
	}
}

// A process that was frozen for longer than its lease wakes up in the middle of a write, before any timer has fired:
// the write is stopped, and its context ends immediately.
func TestFrozenInTheMiddleOfAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, clock := newBroker(session), bubbleClock()
		var frozen atomic.Int64
		group := lease.New(&link{broker: b}, session, fabricNames(1), func() time.Duration { return clock() + time.Duration(frozen.Load()) }, slog.New(slog.DiscardHandler))
		h := startHolder(group, 1, 0)
		defer b.stop()
		defer h.stop()
		time.Sleep(session)
		guard, done, err := h.leases[0].Guard(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		if err := fence.Check(guard); err != nil {
			t.Errorf("an owner may not write: %v", err)
		}
		if err := fence.Check(t.Context()); err != nil {
			t.Errorf("a context without a guard is refused: %v", err)
		}
		frozen.Store(int64(session))
		if guard.Err() != nil {
			t.Fatal("the context has ended before the clock was looked at")
		}
		if err := fence.Check(guard); !errors.Is(err, kafka.ErrFenced) || guard.Err() == nil {
			t.Errorf("a write of one who was frozen: %v; its context: %v", err, guard.Err())
		}
		time.Sleep(2 * session)
		if !h.may(0) {
			t.Fatal("it does not come back")
		}
		if fence.Check(guard) == nil {
			t.Error("a write that was stopped goes on when the lease is renewed")
		}
	})
}

// A rebalance that never ends renews leases for one session only.
func TestEndlessRebalance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(session)
		p := join(b, 1, 0)
		defer b.stop()
		defer p.stop()
		time.Sleep(session)
		p.link.set(func(l *link) {
			l.heartbeat = func() error { return kafka.ErrRebalance }
			l.join = cutOff
		})
		time.Sleep(session + session/2)
		if !p.may(0) {
			t.Error("the lease ends while heartbeats are answered")
		}
		time.Sleep(session / 2)
		if p.may(0) {
			t.Error("the lease outlives a session of rebalancing")
		}
		p.link.set(func(l *link) { l.heartbeat, l.join = nil, nil })
		time.Sleep(2 * session)
		if !p.may(0) {
			t.Error("the lease does not come back")
		}
	})
}

// Joining a group is retried with back-off and one line in the log; a failed
// leave is logged too, and Run ends nevertheless.
func TestJoinAndLeaveFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(session)
		defer b.stop()
		tries := 0
		way, log := &link{broker: b}, &journal.Journal{}
		way.join = func() error { tries++; return errCut }
		way.leave = cutOff
		group := newGroup(way, log, fabricNames(1))
		held := group.Of(0)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- group.Run(ctx) }()
		waiting, giveUp := context.WithTimeout(t.Context(), time.Minute)
		defer giveUp()
		if _, _, err := held.Acquire(waiting); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a fabric of a group that cannot be joined: %v", err)
		}
		if _, _, err := held.Guard(t.Context()); !errors.Is(err, kafka.ErrFenced) {
			t.Errorf("may write without a lease: %v", err)
		}
		if err := group.Ready(t.Context()); !errors.Is(err, errCut) {
			t.Errorf("outside the group for a minute, ready says %v", err)
		}
		way.set(func(l *link) { l.join = nil })
		time.Sleep(session)
		if err := group.Ready(t.Context()); err != nil {
			t.Errorf("in the group again, ready says %v", err)
		}
		way.set(func(l *link) { l.sync = cutOff }) // as with too few replicas of the offsets topic
		go func() {                                // a second process makes the group rebalance
			peer := join(b, 1, 0)
			time.Sleep(time.Minute)
			peer.stop()
		}()
		time.Sleep(50 * time.Second)
		if err := group.Ready(t.Context()); !errors.Is(err, errCut) {
			t.Errorf("joined without an assignment for 50 s, ready says %v", err)
		}
		way.set(func(l *link) { l.sync = nil })
		time.Sleep(time.Minute)
		if err := group.Ready(t.Context()); err != nil {
			t.Errorf("assigned again, ready says %v", err)
		}
		if _, release, err := held.Acquire(t.Context()); err != nil {
			t.Error(err)
		} else {
			release()
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		text := log.String()
		if n := strings.Count(text, "joining the group failed"); n != 2 || tries < 5 || tries > 60 {
			t.Errorf("%d tries in a minute, %d lines of them:\n%s", tries, n, text)
		}
		if !strings.Contains(text, "leaving the group failed") {
			t.Errorf("a leave that failed is not in the log:\n%s", text)
		}
	})
}

// Run leaves the group, so that the others need not wait, and leaks no goroutine, which the bubble would report.
func TestRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(session)
		defer b.stop()
		group := newGroup(&link{broker: b}, &journal.Journal{}, fabricNames(1))
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := group.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		owned, release, err := group.Of(0).Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		release()
		stop()
		running.Wait()
		<-owned.Done()
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.left) != 1 || b.left[0] != "member01" {
			t.Errorf("left the group: %v", b.left)
		}
	})
}
