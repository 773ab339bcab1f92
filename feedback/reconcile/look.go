package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// looked is what the scheduler says about nodes; it does not have those without an entry.
type looked struct {
	states map[string]State
	unread map[string]error // nodes that alone cannot be read, such as for lack of permission, and why
}

// mostUnread is how many nodes may fail to be read one by one before the first one that succeeds: then the scheduler fails.
const mostUnread = 3

// ErrOverloaded is an error of a Scheduler that asks for a pause: more requests would make it worse.
var ErrOverloaded = errors.New("the scheduler is overloaded")

// look reads nodes. If that fails other than by a timeout or an overload, it reads them one by one, so that one that cannot be read does not
// delay the others.
func (r *Reconciler) look(ctx context.Context, nodes []string) (looked, error) {
	states, err := r.scheduler.Look(ctx, nodes)
	if err == nil || len(nodes) == 1 || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrOverloaded) {
		return looked{states: states}, err
	}
	now := looked{map[string]State{}, map[string]error{}}
	for i, node := range nodes {
		some, nodeErr := r.scheduler.Look(ctx, []string{node})
		if nodeErr == nil {
			maps.Copy(now.states, some)
			continue
		}
		now.unread[node] = nodeErr
		if tried := i + 1; len(now.unread) == tried && (tried == mostUnread || tried == len(nodes)) {
			return looked{}, err
		}
	}
	return now, nil
}

// failed is the error of the first unread node; nil: all were read.
func (l *looked) failed() error {
	for _, node := range slices.Sorted(maps.Keys(l.unread)) {
		return fmt.Errorf("%d nodes cannot be read: %w: %w", len(l.unread), errRefused, l.unread[node])
	}
	return nil
}
