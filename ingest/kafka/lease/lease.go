// Package lease lets analysers share fabrics: each fabric has one owner at a
// time, the fabrics are spread evenly, and those of a process that dies or hangs go to the others. In goes
// membership of a Kafka consumer group, out come leases: a context that ends with the ownership, a check right
// before each write, and the fencing token of committed offsets. It reads and writes no data itself.
package lease

import (
	"cmp"
	"context"
	"fmt"

	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/fence"
)

// Lease is one holder's view of the ownership of a fabric, which this process may or may not have. A fabric
// may have several holders in a process, each with a Lease of its own; it is given back when all have released.
type Lease struct {
	group  *Group
	fabric *ownership
	used   *tenure // what the holder works under, or worked until it was lost; nil: nothing; group.mu guards it
}

// ownership is what a process has of a fabric that it could own. group.mu guards what changes.
type ownership struct {
	name    string
	granted *tenure       // what the group has assigned and not got back; nil: another's
	changed chan struct{} // closed when a tenure begins
}

// tenure is a time during which this process owns a fabric.
type tenure struct {
	wanted  context.Context // ends when the fabric is to be given back, or is lost
	valid   context.Context // ends when it has been given back, or is lost
	giveUp  context.CancelFunc
	end     context.CancelFunc
	holders int // that have not released; group.mu guards it
}

func newTenure() *tenure {
	t := &tenure{}
	t.valid, t.end = context.WithCancel(context.Background())
	t.wanted, t.giveUp = context.WithCancel(t.valid)
	return t
}

// Acquire waits until this process owns the fabric. The context it returns ends when the fabric is to be given
// back or is lost; in the former case what is finished may still be written. release must be called when
// nothing is written any more, and once: only then does another process take over.
func (l *Lease) Acquire(ctx context.Context) (owned context.Context, release func(), err error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		t, changed := l.take()
		if t != nil {
			owned, cancel := context.WithCancel(ctx)
			detach := context.AfterFunc(t.wanted, cancel)
			return owned, func() { detach(); cancel(); l.release(t) }, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

func (l *Lease) take() (t *tenure, changed <-chan struct{}) {
	l.group.mu.Lock()
	defer l.group.mu.Unlock()
	t = l.fabric.granted
	if t == nil || t.wanted.Err() != nil {
		return nil, l.fabric.changed
	}
	t.holders++
	l.used = t
	return t, nil
}

// release is the holder's word that it writes nothing more under a tenure.
func (l *Lease) release(t *tenure) {
	l.group.mu.Lock()
	defer l.group.mu.Unlock()
	l.used = nil
	t.holders--
	l.group.giveBackUnused(l.fabric)
}

// Guard is for right before a write: the context that it returns ends with the lease, so that a write which
// takes long does not outlive it, and is fenced by it (package fence), so that none begins after it. An error,
// which wraps kafka.ErrFenced, says that another process may own the fabric.
func (l *Lease) Guard(ctx context.Context) (context.Context, context.CancelFunc, error) {
	l.group.mu.Lock()
	defer l.group.mu.Unlock()
	if err := l.check(); err != nil {
		return nil, nil, err
	}
	t := l.used
	guarded, cancel := context.WithCancel(ctx)
	detach := context.AfterFunc(t.valid, cancel)
	fenced := fence.With(guarded, func() error {
		err := l.stillUnder(t)
		if err != nil {
			cancel()
		}
		return cmp.Or(err, guarded.Err())
	})
	return fenced, func() { detach(); cancel() }, nil
}

// stillUnder is nil while a tenure is the holder's, and no other process can own the fabric.
func (l *Lease) stillUnder(t *tenure) error {
	l.group.mu.Lock()
	defer l.group.mu.Unlock()
	if l.used != t {
		return l.ranOut()
	}
	return l.check()
}

// Fence is the token to commit offsets of the fabric with.
func (l *Lease) Fence() (kafka.Member, error) {
	l.group.mu.Lock()
	defer l.group.mu.Unlock()
	return l.group.member, l.check()
}

// check is nil while the holder is sure to own the fabric; group.mu is held.
func (l *Lease) check() error {
	if l.used == nil || l.used != l.fabric.granted || !l.group.fresh() {
		return l.ranOut()
	}
	return nil
}

func (l *Lease) ranOut() error {
	return fmt.Errorf("fabric %q: %w: its lease has run out", l.fabric.name, kafka.ErrFenced)
}
