package lease_test

import (
	"context"
	"sync"
	"time"

	"github.com/giverny/giverny/ingest/kafka/lease"
)

// holder is a member of a group that holds every fabric it gets until it has to give
// it back.
type holder struct {
	group  *lease.Group
	leases []*lease.Lease // by partition
	slow   time.Duration  // delay of the release when a fabric has to be given back
	stop   func() error   // releases all, leaves the group and waits; returns the group's error

	mu    sync.Mutex
	owned map[int]bool // guarded by mu
}

func startHolder(group *lease.Group, fabrics int, slow time.Duration) *holder {
	h := &holder{group: group, slow: slow, owned: map[int]bool{}}
	holding, stopHolding := context.WithCancel(context.Background())
	member, leave := context.WithCancel(context.Background())
	var holders sync.WaitGroup
	for f := range fabrics {
		h.leases = append(h.leases, group.Of(f))
	}
	for f := range fabrics {
		holders.Go(func() { h.hold(holding, f) })
	}
	ended := make(chan error, 1)
	go func() { ended <- group.Run(member) }()
	h.stop = sync.OnceValue(func() error {
		stopHolding()
		holders.Wait()
		leave()
		return <-ended
	})
	return h
}

func (h *holder) hold(ctx context.Context, fabric int) {
	for {
		owned, release, err := h.leases[fabric].Acquire(ctx)
		if err != nil {
			return
		}
		h.note(fabric, true)
		<-owned.Done()
		time.Sleep(h.slow) // finishes its writes
		h.note(fabric, false)
		release()
	}
}

func (h *holder) note(fabric int, owned bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.owned[fabric] = owned
}

func (h *holder) count() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, owned := range h.owned {
		if owned {
			n++
		}
	}
	return n
}

// may reports whether the holder would write for a fabric now.
func (h *holder) may(fabric int) bool {
	_, done, err := h.leases[fabric].Guard(context.Background())
	if err != nil {
		return false
	}
	done()
	return true
}
