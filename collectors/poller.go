package collectors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/giverny/giverny/internal/plural"
)

// Poller polls one collector. Nothing else reads its devices.
type Poller struct {
	cfg       Config
	collector Collector
	agent     *Agent
	log       *slog.Logger
	metrics   *pollerMetrics
	readers   *readers
	batcher   *batcher
	failing   map[string]Reason // devices that failed in the last poll; replaced, never modified
	trouble   trouble
	unread    unread
	quiet     quiet
	between   chan func() // calls for Run to make between polls
	clocks    func() instant
	steps     clockSteps

	healthLock sync.Mutex
	health     Health // guarded by healthLock
}

// Health is the result of the last poll.
type Health struct {
	Collector    string            `json:"collector"`
	Fabric       string            `json:"fabric"`
	LastPoll     time.Time         `json:"last_poll"` // zero before the first
	Devices      int               `json:"devices"`
	Rows         int               `json:"rows"`
	SkippedPolls int               `json:"skipped_polls"` // since the start
	Failing      map[string]Reason `json:"failing"`       // devices, and why
	Err          error             `json:"-"`             // failure to list devices or to emit batches in the last poll
}

// MarshalText encodes the reason by name in JSON.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// New returns a poller. Nothing is read yet.
func New(cfg Config, c Collector, a *Agent) (*Poller, error) {
	err := cfg.Validate()
	cfg, open := cfg.settled()
	if err := errors.Join(err, open); err != nil {
		return nil, fmt.Errorf("collector %s: %w", c.Name(), err)
	}
	m := a.metrics.of(cfg.Fabric, c.Name())
	return &Poller{
		cfg:       cfg,
		collector: c,
		agent:     a,
		log:       a.log.With("fabric", cfg.Fabric, "collector", c.Name()),
		metrics:   m,
		readers:   newReaders(c.Name(), cfg, m),
		batcher:   newBatcher(),
		failing:   map[string]Reason{},
		between:   make(chan func()),
		clocks:    bothClocks,
		steps:     newClockSteps(cfg.Interval),
		health:    Health{Collector: c.Name(), Fabric: cfg.Fabric},
	}, nil
}

// Health returns the result of the last poll.
func (p *Poller) Health() Health {
	p.healthLock.Lock()
	defer p.healthLock.Unlock()
	return p.health
}

// State names the devices that hang, and says that the last poll found nothing to read;
// "" if neither is so.
func (p *Poller) State() string {
	var parts []string
	if names, since := p.readers.left(); len(names) > 0 {
		parts = append(parts, Blocked(names, since))
	}
	if h := p.Health(); !h.LastPoll.IsZero() && h.Rows == 0 {
		parts = append(parts, fmt.Sprintf("nothing read in the last poll: %s listed, %d failed", plural.Count(h.Devices, "device", "devices"), len(h.Failing)))
	}
	return strings.Join(parts, "; ")
}

// Run polls at every interval boundary until ctx ends. Polls never overlap: a boundary
// that passes during a poll is skipped and counted. On cancel it emits what the current
// poll has read, abandons devices that hang, and returns nil.
func (p *Poller) Run(ctx context.Context) error {
	defer p.drain()
	for sleepUntilBoundary(ctx, p.cfg.Interval, p.between) {
		started := time.Now()
		p.poll(ctx)
		elapsed := time.Since(started)
		p.metrics.pollSeconds.Observe(elapsed.Seconds())
		if missed := missedBoundaries(started, elapsed, p.cfg.Interval); missed > 0 && ctx.Err() == nil {
			p.metrics.skipped.Add(float64(missed))
			p.setHealth(func(h *Health) { h.SkippedPolls += missed })
			p.log.Warn("collectors: polls skipped, the last one ran past the next boundary; raise the interval, or lower collect.device_timeout and collect.poll_timeout",
				"polls", missed, "took", elapsed)
		}
	}
	return nil
}

// Once polls once, now, and returns the result. It is for tools and must not be called
// during Run.
func (p *Poller) Once(ctx context.Context) Health {
	defer p.drain()
	p.poll(ctx)
	return p.Health()
}

// drain counts the devices that hang. It does not wait: every other read has returned,
// and rows of a read that was abandoned are not used.
func (p *Poller) drain() {
	if left, _ := p.readers.left(); len(left) > 0 {
		p.metrics.abandoned.Add(float64(len(left)))
		p.log.Warn("collectors: devices blocked in a read, abandoned", "devices", left)
	}
}

// poll reads all devices and emits their rows, in two turns.
func (p *Poller) poll(ctx context.Context) {
	p.metrics.polls.Inc()
	pollCtx, cancel := context.WithTimeout(ctx, p.cfg.PollTimeout)
	inventory := &inventory{collector: p.collector}
	listed := p.readers.readOne(pollCtx, inventory, p.cfg.PollTimeout)
	var devices []Device
	if listed.returned {
		devices = inventory.devices
		p.readers.release(listed.reading)
	}
	p.unread.begin()
	rows := 0
	var results []result
	var lost []error
	for _, some := range p.turns(devices) {
		read := p.readers.read(pollCtx, some)
		p.batcher.reset()
		for i := range read {
			rows += p.keep(&read[i])
		}
		results, lost = append(results, read...), append(lost, p.emit(ctx))
	}
	cancel()
	p.metrics.rows.Add(float64(rows))
	if ctx.Err() == nil { // otherwise the failures were caused by the stop
		p.recordFailures(append(results, listed))
		p.unread.logNew(p.log)
		if p.trouble.polls == 0 { // failures have lines of their own
			p.quiet.note(len(devices), rows, p.log)
		}
		p.metrics.devices.Set(float64(len(devices)))
	}
	err := errors.Join(append(lost, listed.err)...)
	p.setHealth(func(h *Health) {
		h.LastPoll, h.Devices, h.Rows, h.Failing, h.Err = time.Now(), len(devices), rows, p.failing, err
	})
}

// turns splits the devices into those that answered in the last poll, and those that did not in time. These are read once the
// rows of the others are emitted, and first those for which no time was left, so that dead devices delay no others.
func (p *Poller) turns(devices []Device) [2][]Device {
	var prompt, unread, late []Device
	for _, d := range devices {
		switch reason, failed := p.failing[d.Name()]; {
		case failed && reason == Timeout:
			late = append(late, d)
		case failed && reason == Unread:
			unread = append(unread, d)
		default:
			prompt = append(prompt, d)
		}
	}
	return [...][]Device{prompt, append(unread, late...)}
}

// keep adds the rows of a device to the batches.
func (p *Poller) keep(r *result) int {
	if !r.returned {
		return 0
	}
	rows, refused := p.batcher.add(r.reading)
	r.reading.unreadable[Malformed] += refused
	for reason, n := range r.reading.unreadable {
		p.metrics.unreadable[reason].Add(float64(n))
	}
	p.unread.add(r.reading)
	p.readers.release(r.reading)
	return rows
}

// recordFailures counts the failures of a poll, and logs them if they differ from those of the previous poll.
func (p *Poller) recordFailures(results []result) {
	failing, errs := map[string]Reason{}, map[Reason]error{}
	for _, r := range results {
		if r.err == nil {
			continue
		}
		name := r.device.Name()
		failing[name] = r.reason
		if errs[r.reason] == nil {
			errs[r.reason] = r.err
		}
		if name == inventoryName {
			p.metrics.inventory[r.reason].Inc()
		} else {
			p.metrics.deviceErrors[r.reason].Inc()
		}
	}
	if !maps.Equal(failing, p.failing) {
		p.logFailing(failing, errs)
	}
	p.trouble.note(failing, p.log)
	p.failing = failing
}

// emit emits the batches. It has its own deadline, so that rows read before ctx ended
// are not lost.
func (p *Poller) emit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.cfg.DrainTimeout)
	defer cancel()
	p.noteStep()
	var errs []error
	for _, s := range p.batcher.sets {
		b := s.finish()
		if b.Rows() == 0 {
			continue
		}
		b.Fabric, b.Source, b.Epoch = p.cfg.Fabric, p.collector.Name(), p.steps.of(p.collector.Epoch())
		b.IntervalNanos = int64(p.cfg.Interval)
		if err := p.agent.emit(ctx, b); err != nil {
			p.metrics.lostEmit.Add(float64(b.Rows()))
			errs = append(errs, err)
			continue
		}
		p.metrics.batches.Inc()
	}
	err := errors.Join(errs...)
	if err != nil {
		p.log.Error("collectors: batches lost, they could not be emitted", "batches", len(errs), "error", err)
	}
	return err
}

// noteStep counts and logs a step of the clock. The epoch changes, so that no rate is formed across it.
func (p *Poller) noteStep() {
	by := p.steps.observe(p.clocks())
	switch {
	case by > 0:
		p.metrics.setForward.Inc()
	case by < 0:
		p.metrics.setBack.Inc()
	default:
		return
	}
	p.log.Warn("collectors: the clock of this host was set, so the polls before and after give no rate; let NTP slew the clock instead (chrony: makestep only at boot)", "by", by.Round(time.Millisecond))
}

func (p *Poller) setHealth(set func(*Health)) {
	p.healthLock.Lock()
	defer p.healthLock.Unlock()
	set(&p.health)
}
