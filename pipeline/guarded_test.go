package pipeline

import (
	"context"
	"errors"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// refusing fails writes and the guard with the errors that it has, and counts the writes and the guards that were not released.
type refusing struct {
	write, guard error
	writes, held int
}

func (r *refusing) Put(context.Context, *schema.IntervalResult) error {
	r.writes++
	return r.write
}

type refusingStore struct {
	Store
	*refusing
}

func (s refusingStore) Put(ctx context.Context, r *schema.IntervalResult) error {
	return s.refusing.Put(ctx, r)
}
func (s refusingStore) StoreGraph(ctx context.Context, _ *topology.Graph) error {
	return s.refusing.Put(ctx, nil)
}

type refusingFollower struct {
	Follower
	*refusing
}

func (f refusingFollower) Put(ctx context.Context, r *schema.IntervalResult) error {
	return f.refusing.Put(ctx, r)
}

type refusingOwner struct {
	Owner
	*refusing
}

func (o refusingOwner) Guard(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if o.guard != nil {
		return ctx, func() {}, o.guard
	}
	o.held++
	return ctx, func() { o.held-- }, nil
}

// Only the owner writes, and an error of a write is the caller's. A follower gets no results from others than the owner.
func TestGuardedWrites(t *testing.T) {
	broken, lost := errors.New("broken"), errors.New("another owns it")
	for _, c := range []struct {
		write, guard, want, wantFollower error
		writes                           int
	}{{nil, nil, nil, nil, 1}, {broken, nil, broken, broken, 1}, {nil, lost, lost, nil, 0}} {
		for name, do := range map[string]func(r *refusing) error{
			"graph": func(r *refusing) error {
				return (&guardedStore{refusingStore{nil, r}, refusingOwner{nil, r}}).StoreGraph(t.Context(), nil)
			},
			"result": func(r *refusing) error {
				return (&guardedStore{refusingStore{nil, r}, refusingOwner{nil, r}}).Put(t.Context(), nil)
			},
			"follow": func(r *refusing) error {
				return (&guardedFollower{refusingFollower{nil, r}, refusingOwner{nil, r}}).Put(t.Context(), nil)
			},
		} {
			r, want := &refusing{write: c.write, guard: c.guard}, c.want
			if name == "follow" {
				want = c.wantFollower
			}
			if err := do(r); err != want || r.writes != c.writes || r.held != 0 {
				t.Errorf("%s: error %v, %d writes, %d guards held; want %v, %d, none", name, err, r.writes, r.held, want, c.writes)
			}
		}
	}
}
