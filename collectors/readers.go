package collectors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// readers reads devices in parallel, each in a goroutine that can be abandoned: a read
// that hangs in the kernel blocks only that goroutine.
type readers struct {
	collector string
	cfg       Config
	metrics   *pollerMetrics

	lock  sync.Mutex
	stuck map[string]time.Time // guarded by lock: devices with an abandoned read, since when
	free  []*Reading           // guarded by lock: readings for reuse
}

func newReaders(collector string, cfg Config, m *pollerMetrics) *readers {
	return &readers{collector: collector, cfg: cfg, metrics: m, stuck: map[string]time.Time{}}
}

// result is the outcome of reading a device.
type result struct {
	device   Device
	reading  *Reading // valid if returned
	returned bool     // Read has returned
	reason   Reason   // of err
	err      error    // a *DeviceError, or nil
}

// grace is the time a device gets to return its rows after its context ended.
const grace = 50 * time.Millisecond

// read reads all devices, cfg.Workers at a time, and returns their results in the same
// order.
func (r *readers) read(ctx context.Context, devices []Device) []result {
	results := make([]result, len(devices))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(r.cfg.Workers, len(devices)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(devices); i = int(next.Add(1)) - 1 {
				results[i] = r.readOne(ctx, devices[i], r.cfg.DeviceTimeout)
			}
		})
	}
	workers.Wait()
	return results
}

var errTooStuck = errors.New("too many devices are blocked in a read; see collect.max_stuck")

// errTimeout is the error of a read that exceeded its limit. ended is what it returned, or nil.
func (r *readers) errTimeout(limit time.Duration, ended error) error {
	key := "device_timeout"
	if limit == r.cfg.PollTimeout {
		key = "poll_timeout"
	}
	if ended == nil {
		return fmt.Errorf("timed out after %v; see collect.%s", limit, key)
	}
	return fmt.Errorf("timed out after %v; see collect.%s: %w", limit, key, ended)
}

func (r *readers) errUnread() error {
	return fmt.Errorf("the poll timed out before this device was read; raise collect.poll_timeout or collect.%s.workers", r.collector)
}

// readOne reads a device within limit.
func (r *readers) readOne(ctx context.Context, d Device, limit time.Duration) result {
	if ctx.Err() != nil {
		return r.failed(d, Unread, r.errUnread())
	}
	if err := r.stuckError(d.Name()); err != nil {
		return r.failed(d, Stuck, err)
	}
	deviceCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	reading := r.acquire()
	ended := make(chan error)         // unbuffered, so that the reader knows whether its rows were accepted
	leftBehind := make(chan struct{}) // closed when the read is abandoned
	go func() {
		err := d.Read(deviceCtx, reading)
		select {
		case ended <- err:
		case <-leftBehind:
			r.comeBack(d.Name(), reading)
		}
	}()
	err, returned := await(deviceCtx, ended)
	if !returned {
		r.leave(d.Name())
		close(leftBehind)
		return r.failed(d, Timeout, r.errTimeout(limit, nil))
	}
	res := result{device: d, reading: reading, returned: true}
	if err != nil {
		if ReasonOf(err) == Timeout && deviceCtx.Err() != nil {
			err = r.errTimeout(limit, err)
		}
		res.reason = ReasonOf(err)
		res.err = &DeviceError{r.collector, d.Name(), err}
	}
	return res
}

// await waits for the read to end, or until the grace period after ctx.
func await(ctx context.Context, ended <-chan error) (err error, returned bool) {
	select {
	case err = <-ended:
		return err, true
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err = <-ended:
		return err, true
	case <-timer.C:
		return nil, false
	}
}

func (r *readers) failed(d Device, why Reason, err error) result {
	return result{device: d, reason: why, err: &DeviceError{r.collector, d.Name(), err}}
}

// stuckError returns why a device must not be read now, or nil.
func (r *readers) stuckError(name string) error {
	r.lock.Lock()
	defer r.lock.Unlock()
	if since, stuck := r.stuck[name]; stuck {
		return fmt.Errorf("blocked in a read since %s", since.UTC().Format(time.RFC3339))
	}
	if len(r.stuck) >= r.cfg.MaxStuck {
		return errTooStuck
	}
	return nil
}

func (r *readers) leave(name string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.stuck[name] = time.Now()
	r.metrics.stuck.Set(float64(len(r.stuck)))
}

// comeBack clears the stuck state of a device; its rows are too old to be used.
func (r *readers) comeBack(name string, reading *Reading) {
	r.metrics.lostLate.Add(float64(len(reading.rows)))
	r.release(reading)
	r.lock.Lock()
	defer r.lock.Unlock()
	delete(r.stuck, name)
	r.metrics.stuck.Set(float64(len(r.stuck)))
}

func (r *readers) acquire() *Reading {
	r.lock.Lock()
	defer r.lock.Unlock()
	if n := len(r.free); n > 0 {
		reading := r.free[n-1]
		r.free = r.free[:n-1]
		return reading
	}
	return &Reading{}
}

func (r *readers) release(reading *Reading) {
	reading.reset()
	r.lock.Lock()
	defer r.lock.Unlock()
	r.free = append(r.free, reading)
}

// left returns the devices that hang, in order, with the time since when.
func (r *readers) left() (names []string, since map[string]time.Time) {
	r.lock.Lock()
	defer r.lock.Unlock()
	return slices.Sorted(maps.Keys(r.stuck)), maps.Clone(r.stuck)
}

// inventoryName is the device name of the listing, which can hang like a device.
const inventoryName = "(list of devices)"

// inventory wraps the listing of devices as a device.
type inventory struct {
	collector Collector
	afresh    bool // bypass what the collector remembers
	devices   []Device
}

func (i *inventory) Name() string { return inventoryName }

func (i *inventory) Read(ctx context.Context, _ *Reading) (err error) {
	if r, ok := i.collector.(Refresher); ok && i.afresh {
		r.Refresh()
	}
	i.devices, err = i.collector.Devices(ctx)
	return err
}
