package collectors

import "context"

// Once polls a single time, now, and says what it found. It is for tools; it
// must not be called during Run.
func (p *Poller) Once(ctx context.Context) Health {
	defer p.drain()
	p.poll(ctx)
	return p.Health()
}
