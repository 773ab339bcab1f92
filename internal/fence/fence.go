// Package fence stops a write just before it leaves the process (fencing of lease holders). The holder of a lease puts a
// check of the lease into the context of a write; the code that sends the write calls it. Cancelling the context alone
// is too late for a process or host that was frozen longer than its lease: it resumes in the middle of a write, before
// the timer that cancels the context fires. It does no I/O.
package fence

import "context"

type key struct{}

// With returns a context whose writes are fenced: may returns nil while they may leave the process. It must be safe
// for concurrent use.
func With(ctx context.Context, may func() error) context.Context {
	return context.WithValue(ctx, key{}, may)
}

// Check reports whether a write may leave the process now. It is nil for a context without a fence.
func Check(ctx context.Context) error {
	if may, ok := ctx.Value(key{}).(func() error); ok {
		return may()
	}
	return nil
}
