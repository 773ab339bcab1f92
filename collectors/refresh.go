package collectors

import (
	"context"
	"fmt"
)

// Refresher is a Collector that caches its list of devices.
type Refresher interface {
	// Refresh invalidates the cache for the next Devices. It must not run concurrently with Devices.
	Refresh()
}

// Refresh lists the devices again, between two polls of Run, and returns the result. It
// waits for a running poll.
func (p *Poller) Refresh(ctx context.Context) (Health, error) {
	found := make(chan error, 1)
	select {
	case p.between <- func() { found <- p.rediscover(ctx) }:
		err := <-found // within PollTimeout
		return p.Health(), err
	case <-ctx.Done():
		return p.Health(), fmt.Errorf("collector %s: the running poll did not end: %w", p.collector.Name(), ctx.Err())
	}
}

func (p *Poller) rediscover(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.PollTimeout)
	defer cancel()
	inventory := &inventory{collector: p.collector, afresh: true}
	listed := p.readers.readOne(ctx, inventory, p.cfg.PollTimeout)
	if listed.returned {
		p.readers.release(listed.reading)
		p.metrics.devices.Set(float64(len(inventory.devices)))
		p.setHealth(func(h *Health) { h.Devices = len(inventory.devices) })
	}
	if listed.err != nil {
		p.metrics.inventory[listed.reason].Inc()
		return listed.err
	}
	p.log.Info("collectors: devices listed", "devices", len(inventory.devices))
	return nil
}
