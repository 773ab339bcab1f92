package lease_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/kafka/lease"
)

// broker is an in-memory group coordinator with Kafka's classic protocol: it
// expels a member that is silent for a session; a generation starts when all
// members have joined it, or when the rebalance timeout of the others has
// expired.
type broker struct {
	session time.Duration

	mu         sync.Mutex // guards what follows
	changed    chan struct{}
	born       int
	generation int
	preparing  bool // waits for members to join
	members    map[string]*brokerMember
	plan       map[string][]int // of the generation; nil until its leader has sent it
	left       []string         // the members that have left by request
}

type brokerMember struct {
	self   kafka.GroupMember
	joined bool        // in the generation that is being prepared
	silent *time.Timer // expels it
}

const patience = 3 // in session timeouts: how long a member has to rejoin

func newBroker(session time.Duration) *broker {
	return &broker{session: session, members: map[string]*brokerMember{}, changed: make(chan struct{})}
}

// notify wakes all waiters; b.mu is held.
func (b *broker) notify() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// prepare starts a rebalance; b.mu is held.
func (b *broker) prepare() {
	if b.preparing {
		return
	}
	b.preparing, b.plan = true, nil
	generation := b.generation
	time.AfterFunc(patience*b.session, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.preparing && b.generation == generation {
			for id, m := range b.members {
				if !m.joined {
					b.drop(id)
				}
			}
			b.complete()
		}
	})
	b.notify()
}

// complete starts the generation if all have joined; b.mu is held.
func (b *broker) complete() {
	for _, m := range b.members {
		if !m.joined {
			return
		}
	}
	if !b.preparing || len(b.members) == 0 {
		return
	}
	b.generation++
	b.preparing, b.plan = false, nil
	for _, m := range b.members {
		m.joined = false
	}
	b.notify()
}

func (b *broker) drop(id string) {
	b.members[id].silent.Stop()
	delete(b.members, id)
}

// expel removes a silent member, or any member on request of a test.
func (b *broker) expel(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.members[id] == nil {
		return
	}
	b.drop(id)
	b.prepare()
	b.complete()
}

// stop ends all timers.
func (b *broker) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id := range b.members {
		b.drop(id)
	}
	b.preparing = false
}

func (b *broker) Join(ctx context.Context, self kafka.GroupMember) (kafka.Joined, error) {
	b.mu.Lock()
	if self.ID == "" {
		b.born++
		self.ID = fmt.Sprintf("member%02d", b.born)
		b.members[self.ID] = &brokerMember{silent: time.AfterFunc(b.session, func() { b.expel(self.ID) })}
	}
	m := b.members[self.ID]
	if m == nil {
		b.mu.Unlock()
		return kafka.Joined{}, kafka.ErrExpelled
	}
	m.self = self
	b.prepare()
	m.joined = true
	m.silent.Stop() // a member that waits in a join is not silent
	generation := b.generation
	b.complete()
	for b.generation == generation {
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			b.expel(self.ID)
			return kafka.Joined{}, ctx.Err()
		}
		b.mu.Lock()
		if b.members[self.ID] == nil {
			b.mu.Unlock()
			return kafka.Joined{}, kafka.ErrExpelled
		}
	}
	defer b.mu.Unlock()
	m.silent.Reset(b.session)
	joined := kafka.Joined{Member: kafka.Member{ID: self.ID, Generation: b.generation}}
	if ids := slices.Sorted(maps.Keys(b.members)); ids[0] == self.ID {
		for _, id := range ids {
			joined.Members = append(joined.Members, b.members[id].self)
		}
	}
	return joined, nil
}

// check checks a member's ID and generation; b.mu is held.
func (b *broker) check(m kafka.Member) error {
	switch member := b.members[m.ID]; {
	case member == nil:
		return kafka.ErrExpelled
	case m.Generation != b.generation:
		return kafka.ErrGeneration
	case b.preparing:
		member.silent.Reset(b.session)
		return kafka.ErrRebalance
	default:
		member.silent.Reset(b.session)
		return nil
	}
}

func (b *broker) Sync(ctx context.Context, m kafka.Member, plan map[string][]int) ([]int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if plan != nil && b.check(m) == nil {
		b.plan = plan
		b.notify()
	}
	for {
		if err := b.check(m); err != nil {
			return nil, err
		}
		if b.plan != nil {
			return b.plan[m.ID], nil
		}
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		b.mu.Lock()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

func (b *broker) Heartbeat(_ context.Context, m kafka.Member) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.check(m)
}

func (b *broker) Leave(_ context.Context, m kafka.Member) error {
	b.mu.Lock()
	b.left = append(b.left, m.ID)
	b.mu.Unlock()
	b.expel(m.ID)
	return nil
}

var _ lease.Coordinator = (*broker)(nil)
