// Package fence stops a write at the last moment before it leaves the process. Who may write only while it holds a
// lease puts the question whether it still does into the context of the write; what sends the write asks it. The end of
// a context alone comes too late for a process that was frozen, or a host that was suspended, for longer than its lease:
// it wakes in the middle of a write, and a timer that ends the context fires some time after. It does no I/O.
package fence

import "context"

type key struct{}

// With returns a context whose writes are fenced: may is nil while they may leave the process. It is called from any
// goroutine.
func With(ctx context.Context, may func() error) context.Context {
	return context.WithValue(ctx, key{}, may)
}

// Check asks whether a write may leave the process now. It is nil for a context that has no fence.
func Check(ctx context.Context) error {
	if may, ok := ctx.Value(key{}).(func() error); ok {
		return may()
	}
	return nil
}
