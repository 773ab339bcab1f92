// Package lease lets analysers share fabrics: each fabric has one owner at a time, fabrics are spread evenly,
// and those of a process that dies or hangs go to the others. On top of membership in a Kafka consumer group
// it provides leases: a context that ends with the ownership, a check right before each write, and the fencing
// token for committed offsets. It reads and writes no data itself.
package lease

import (
	"cmp"
	"context"
	"fmt"

	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/fence"
)

// Lease is one holder's view of the ownership of a fabric, which this process may or may not have. A fabric may
// have several holders in a process, each with its own Lease; it is given back when all have released.
type Lease struct {
	group  *Group
	fabric *ownership
	used   *tenure // the tenure that the holder uses, or used until it was lost; nil: none; guarded by group.mu
}

// ownership is a process's state for a fabric that it can own. group.mu guards the mutable fields.
type ownership struct {
	name    string
	granted *tenure       // assigned by the group and not given back; nil: not owned
	changed chan struct{} // closed when a tenure starts
}

// tenure is a period during which this process owns a fabric.
type tenure struct {
	wanted  context.Context // ends when the fabric has to be given back, or is lost
	valid   context.Context // ends when it has been given back, or is lost
	giveUp  context.CancelFunc
	end     context.CancelFunc
	holders int // that have not released; guarded by group.mu
}

func newTenure() *tenure {
	t := &tenure{}
	t.valid, t.end = context.WithCancel(context.Background())
	t.wanted, t.giveUp = context.WithCancel(t.valid)
	return t
}

// Acquire waits until this process owns the fabric. The context that it returns ends when the fabric has to be
// given back or is lost; in the former case finished results may still be written. The caller must call
// release once, after its last write: only then can another process take over.
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

// release says that the holder writes nothing more under a tenure.
func (l *Lease) release(t *tenure) {
	l.group.mu.Lock()
	defer l.group.mu.Unlock()
	l.used = nil
	t.holders--
	l.group.giveBackUnused(l.fabric)
}

// Guard is called right before a write. The context that it returns ends with the lease, so that a long write
// does not outlive it, and is fenced by it (package fence), so that none starts after it. An error wraps
// kafka.ErrFenced and means that another process may own the fabric.
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

// stillUnder returns nil while the holder has the tenure t and no other process can own the fabric.
func (l *Lease) stillUnder(t *tenure) error {
	l.group.mu.Lock()
	defer l.group.mu.Unlock()
	if l.used != t {
		return l.ranOut()
	}
	return l.check()
}

// Fence returns the fencing token for commits of the fabric's offsets.
func (l *Lease) Fence() (kafka.Member, error) {
	l.group.mu.Lock()
	defer l.group.mu.Unlock()
	return l.group.member, l.check()
}

// Ready returns nil while the group distributes its fabrics, perhaps to other processes.
func (l *Lease) Ready(ctx context.Context) error { return l.group.Ready(ctx) }

// check returns nil while the holder certainly owns the fabric; group.mu is held.
func (l *Lease) check() error {
	if l.used == nil || l.used != l.fabric.granted || !l.group.fresh() {
		return l.ranOut()
	}
	return nil
}

func (l *Lease) ranOut() error {
	return fmt.Errorf("fabric %q: %w: its lease has expired", l.fabric.name, kafka.ErrFenced)
}
