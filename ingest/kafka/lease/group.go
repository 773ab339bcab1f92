package lease

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/retry"
)

// Coordinator is the consumer group: kafka.Coordinator, which says what the errors mean.
type Coordinator interface {
	Join(ctx context.Context, self kafka.GroupMember) (kafka.Joined, error)
	Sync(ctx context.Context, m kafka.Member, assignment map[string][]int) ([]int, error)
	Heartbeat(ctx context.Context, m kafka.Member) error
	Leave(ctx context.Context, m kafka.Member) error
	Close()
}

// Parts of the session timeout. The coordinator counts it from when it gets a heartbeat and a lease from when
// the heartbeat was sent, so a lease runs out first, by a fifth of the timeout if clocks run alike.
const (
	heartbeatsPerSession = 6
	checksPerSession     = 30
	leaseNumerator       = 4
	leaseDenominator     = 5
)

// Group is the membership of this process, for the fabrics that it could own.
type Group struct {
	coordinator Coordinator
	session     time.Duration
	now         func() time.Duration
	log         *slog.Logger
	fabrics     map[int]*ownership // by partition
	again       chan struct{}      // holds one when the process is to join again

	mu        sync.Mutex // guards what follows, and the state of fabrics and leases
	member    kafka.Member
	joining   bool
	renewed   time.Duration // when the newest heartbeat that was answered was sent
	unsettled time.Duration // when a heartbeat first said that the group rebalances; 0: it does not
}

// New makes the membership of a process that could own some fabrics, by partition. session is the session
// timeout that the coordinator has; now is a clock that is never set, such as Clock.
func New(coordinator Coordinator, session time.Duration, fabrics map[int]string, now func() time.Duration, log *slog.Logger) *Group {
	g := &Group{coordinator: coordinator, session: session, now: now, log: log, fabrics: map[int]*ownership{}, again: make(chan struct{}, 1)}
	for partition, fabric := range fabrics {
		g.fabrics[partition] = &ownership{name: fabric, changed: make(chan struct{})}
	}
	return g
}

// Of makes a lease of a fabric's partition, for one holder.
func (g *Group) Of(partition int) *Lease { return &Lease{group: g, fabric: g.fabrics[partition]} }

// Run keeps the membership until ctx ends, and then leaves, so that the others take over at once. The holders
// must have released by then.
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
	g.coordinator.Close()
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

// keepJoined enters generation after generation.
func (g *Group) keepJoined(ctx context.Context) {
	pauses := retry.Backoff{Min: 100 * time.Millisecond, Max: g.session / 2}.Pauses()
	for failures := 0; ctx.Err() == nil; {
		if err := g.rebalance(ctx); err != nil {
			failures++
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

// rebalance enters one generation, and takes the fabrics that it brings.
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
	sent = g.now() // the join may have waited for longer than a lease lasts
	if err = g.coordinator.Heartbeat(ctx, joined.Member); errors.Is(err, kafka.ErrRebalance) {
		g.joinAgain()
	} else if err != nil {
		g.refused(err)
		return err
	}
	g.take(mine, sent)
	return nil
}

// beginJoin is what this process says of itself: the fabrics that it could own, and those that it does.
func (g *Group) beginJoin() kafka.GroupMember {
	g.mu.Lock()
	defer g.mu.Unlock()
	select { // what is asked for from now on needs another generation
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

// enter notes the generation that was joined.
func (g *Group) enter(m kafka.Member, sent time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.member, g.renewed = m, max(g.renewed, sent)
}

// refused draws the consequence of an answer to a join.
func (g *Group) refused(err error) {
	if errors.Is(err, kafka.ErrExpelled) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.member.ID = ""
		g.lose("the group took this process for dead")
	}
}

// take begins a tenure of each assigned partition, and asks back those that are no longer assigned.
func (g *Group) take(assigned []int, renewed time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.renewed, g.unsettled = max(g.renewed, renewed), 0
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

// giveBackUnused ends a tenure that is asked back and that nothing is written under; g.mu is held.
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

// answered draws the consequence of a heartbeat; g.mu is held.
func (g *Group) answered(err error, sent time.Duration) {
	switch {
	case err == nil:
		g.renewed, g.unsettled = max(g.renewed, sent), 0
	case errors.Is(err, kafka.ErrRebalance):
		// The member counts as alive, and what it owned when the generation began is not assigned to others, until
		// it fails to join the next one in time: renewals end long before that.
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
		g.lose("the group took this process for dead")
	case errors.Is(err, kafka.ErrGeneration) && !g.joining:
		g.lose("the group has gone on without this process")
	}
}

// fresh says whether no other process can own what this one was assigned; g.mu is held.
func (g *Group) fresh() bool {
	return g.now()-g.renewed < g.session*leaseNumerator/leaseDenominator
}

// expire ends leases that have not been renewed in time.
func (g *Group) expire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.owns() && !g.fresh() {
		g.lose("not renewed in time: this process hung, or Kafka is away")
	}
}

// owns says whether any fabric is this process's; g.mu is held.
func (g *Group) owns() bool {
	for _, f := range g.fabrics {
		if f.granted != nil {
			return true
		}
	}
	return false
}

// lose ends all tenures at once; g.mu is held.
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

// joinAgain asks for another generation.
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
		g.log.Warn("lease: leaving the group failed, the others wait until the session times out", "error", err)
	}
}
