package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/retry"
)

// Coordinator is the consumer group. kafka.Coordinator implements it and documents the errors.
type Coordinator interface {
	Join(ctx context.Context, self kafka.GroupMember) (kafka.Joined, error)
	Sync(ctx context.Context, m kafka.Member, assignment map[string][]int) ([]int, error)
	Heartbeat(ctx context.Context, m kafka.Member) error
	Leave(ctx context.Context, m kafka.Member) error
}

// Fractions of the session timeout. The coordinator starts it when it receives a heartbeat, a lease starts
// when the heartbeat is sent, so a lease expires first, by a fifth of the timeout if clocks run equally fast.
const (
	heartbeatsPerSession = 6
	checksPerSession     = 30
	leaseNumerator       = 4
	leaseDenominator     = 5
)

// Group is this process's membership in the consumer group, for the fabrics that it can own.
type Group struct {
	coordinator Coordinator
	session     time.Duration
	now         func() time.Duration
	log         *slog.Logger
	fabrics     map[int]*ownership // by partition
	again       chan struct{}      // holds one value if the process has to rejoin

	mu        sync.Mutex // guards the fields below, and the state of fabrics and leases
	member    kafka.Member
	joining   bool
	renewed   time.Duration // send time of the newest heartbeat that succeeded
	unsettled time.Duration // send time of the first heartbeat that reported the current rebalance; 0: none
	assigned  bool          // fabrics have been distributed in the generation that this process has joined
	settled   time.Duration // send time of the newest heartbeat that succeeded in such a generation
	trouble   error         // of the last join or heartbeat; nil if it succeeded
}

// New returns the membership of a process that can own the given fabrics, by partition. session is the
// coordinator's session timeout; now is a monotonic clock such as Clock.
func New(coordinator Coordinator, session time.Duration, fabrics map[int]string, now func() time.Duration, log *slog.Logger) *Group {
	g := &Group{coordinator: coordinator, session: session, now: now, log: log, fabrics: map[int]*ownership{}, again: make(chan struct{}, 1), settled: now()}
	for partition, fabric := range fabrics {
		g.fabrics[partition] = &ownership{name: fabric, changed: make(chan struct{})}
	}
	return g
}

// Of returns a lease of a fabric's partition, for one holder.
func (g *Group) Of(partition int) *Lease { return &Lease{group: g, fabric: g.fabrics[partition]} }

// outsideSessions is for how many session timeouts a process may be outside the group and still be ready: as long as
// the brokers need to replace the group's coordinator.
const outsideSessions = 3

// Ready returns nil while the group assigns fabrics to this process, perhaps none, or did so until lately; otherwise what
// prevents that. Without this a process that cannot join would look like one on standby.
func (g *Group) Ready(context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	outside := g.now() - g.settled
	if outside < outsideSessions*g.session {
		return nil
	}
	return fmt.Errorf("for %v the consumer group has not distributed the fabrics; its coordinator, one of the brokers, may be down, or too few replicas of __consumer_offsets in sync: %w",
		outside.Round(time.Second), cmp.Or(g.trouble, errNoAnswer))
}

var errNoAnswer = errors.New("no answer")

// Run maintains the membership until ctx ends, and then leaves the group, so that the others take over at
// once. The holders must have released by then.
func (g *Group) Run(ctx context.Context) error {
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { g.keepJoined(running); return nil })
	group.Go(func() error {
		g.every(running, g.session/heartbeatsPerSession, func() { g.heartbeat(running) })
		return nil
	})
	group.Go(func() error { g.every(running, g.session/checksPerSession, g.expire); return nil })
	err := group.Wait()
	g.leave()
	return err
}

func (g *Group) every(ctx context.Context, period time.Duration, do func()) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			do()
		}
	}
}

// keepJoined joins generation after generation.
func (g *Group) keepJoined(ctx context.Context) {
	pauses := retry.Backoff{Min: 100 * time.Millisecond, Max: g.session / 2}.Pauses()
	for failures := 0; ctx.Err() == nil; {
		if err := g.rebalance(ctx); err != nil {
			failures++
			g.failed(err)
			if failures == 1 && ctx.Err() == nil {
				g.log.Warn("lease: joining the group failed, retrying", "error", err)
			}
			pauses.Wait(ctx)
			continue
		}
		failures = 0
		pauses.Reset()
		select {
		case <-ctx.Done():
		case <-g.again:
		}
	}
}

// rebalance joins one generation, and takes the fabrics that are assigned to this process.
func (g *Group) rebalance(ctx context.Context) error {
	self := g.beginJoin()
	defer g.endJoin()
	sent := g.now()
	joined, err := g.coordinator.Join(ctx, self)
	if err != nil {
		g.refused(err)
		return err
	}
	g.enter(joined.Member, sent)
	var plan map[string][]int
	if joined.Members != nil {
		plan = assign(joined.Members)
	}
	mine, err := g.coordinator.Sync(ctx, joined.Member, plan)
	if errors.Is(err, kafka.ErrRebalance) {
		g.joinAgain()
		return nil
	}
	if err != nil {
		g.refused(err)
		return err
	}
	sent = g.now() // the join may have taken longer than a lease lasts
	if err = g.coordinator.Heartbeat(ctx, joined.Member); errors.Is(err, kafka.ErrRebalance) {
		g.joinAgain()
	} else if err != nil {
		g.refused(err)
		return err
	}
	g.take(mine, sent)
	return nil
}

// beginJoin returns this process's part of the join: the fabrics that it can own, and those that it owns.
func (g *Group) beginJoin() kafka.GroupMember {
	g.mu.Lock()
	defer g.mu.Unlock()
	select { // a request from now on needs another generation
	case <-g.again:
	default:
	}
	g.joining = true
	self := kafka.GroupMember{ID: g.member.ID, Can: slices.Sorted(maps.Keys(g.fabrics)), Has: []int{}}
	for _, partition := range self.Can {
		if g.fabrics[partition].granted != nil {
			self.Has = append(self.Has, partition)
		}
	}
	return self
}

func (g *Group) endJoin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.joining = false
}

// enter records the generation that was joined.
func (g *Group) enter(m kafka.Member, sent time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.member, g.renewed, g.assigned = m, max(g.renewed, sent), false
}

// failed records an error of a join, for Ready.
func (g *Group) failed(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trouble = err
}

// refused handles an error of a join.
func (g *Group) refused(err error) {
	if errors.Is(err, kafka.ErrExpelled) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.member.ID = ""
		g.lose("the group declared this process dead")
	}
}

// take starts a tenure of each newly assigned partition, and revokes those that are no longer assigned.
func (g *Group) take(assigned []int, renewed time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.renewed, g.unsettled = max(g.renewed, renewed), 0
	g.assigned, g.settled, g.trouble = true, renewed, nil
	for partition, f := range g.fabrics {
		switch mine := slices.Contains(assigned, partition); {
		case mine && f.granted == nil:
			f.granted = newTenure()
			close(f.changed)
			f.changed = make(chan struct{})
			g.log.Info("lease: fabric taken over", "fabric", f.name, "generation", g.member.Generation)
		case !mine && f.granted != nil:
			f.granted.giveUp()
			g.giveBackUnused(f)
		}
	}
}

// giveBackUnused ends a tenure that is revoked and has no holders; g.mu is held.
func (g *Group) giveBackUnused(f *ownership) {
	if f.granted == nil || f.granted.wanted.Err() == nil || f.granted.holders > 0 {
		return
	}
	f.granted.end()
	f.granted = nil
	g.log.Info("lease: fabric handed over", "fabric", f.name)
	g.joinAgain()
}

// heartbeat renews the leases.
func (g *Group) heartbeat(ctx context.Context) {
	g.mu.Lock()
	m := g.member
	g.mu.Unlock()
	if m.ID == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, g.session/2)
	defer cancel()
	sent := g.now()
	err := g.coordinator.Heartbeat(ctx, m)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.member == m {
		g.answered(err, sent)
	}
}

// answered handles the result of a heartbeat; g.mu is held.
func (g *Group) answered(err error, sent time.Duration) {
	switch {
	case err == nil:
		g.renewed, g.unsettled = max(g.renewed, sent), 0
		if g.assigned {
			g.settled, g.trouble = max(g.settled, sent), nil
		}
	case errors.Is(err, kafka.ErrRebalance):
		// The group considers the member alive, and does not assign its partitions to others until it fails to
		// rejoin in time: renewals end long before that.
		if g.unsettled == 0 {
			g.unsettled = sent
		}
		if sent-g.unsettled < g.session {
			g.renewed = max(g.renewed, sent)
		}
		if !g.joining {
			g.joinAgain()
		}
	case errors.Is(err, kafka.ErrExpelled):
		g.member.ID = ""
		g.lose("the group declared this process dead")
	case errors.Is(err, kafka.ErrGeneration) && !g.joining:
		g.lose("the group has rebalanced without this process")
	}
}

// fresh reports whether the leases are valid: no other process can own this process's partitions; g.mu is
// held.
func (g *Group) fresh() bool {
	return g.now()-g.renewed < g.session*leaseNumerator/leaseDenominator
}

// expire ends leases that were not renewed in time.
func (g *Group) expire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.owns() && !g.fresh() {
		g.lose("not renewed in time: this process hung, or the coordinator of the group, one of the brokers, did not answer")
	}
}

// owns reports whether this process owns any fabric; g.mu is held.
func (g *Group) owns() bool {
	for _, f := range g.fabrics {
		if f.granted != nil {
			return true
		}
	}
	return false
}

// lose ends all tenures immediately; g.mu is held.
func (g *Group) lose(why string) {
	for _, f := range g.fabrics {
		if f.granted == nil {
			continue
		}
		f.granted.end()
		f.granted = nil
		g.log.Warn("lease: fabric lost", "fabric", f.name, "reason", why)
	}
	g.joinAgain()
}

// joinAgain requests another generation.
func (g *Group) joinAgain() {
	select {
	case g.again <- struct{}{}:
	default:
	}
}

// leave ends the membership.
func (g *Group) leave() {
	g.mu.Lock()
	m := g.member
	g.member.ID = ""
	for _, f := range g.fabrics {
		if f.granted != nil {
			f.granted.end()
			f.granted = nil
		}
	}
	g.mu.Unlock()
	if m.ID == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), g.session/3)
	defer cancel()
	if err := g.coordinator.Leave(ctx, m); err != nil {
		g.log.Warn("lease: leaving the group failed, other members take over when the session times out", "error", err)
	}
}
