package agent

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/collectors/ibsysfs"
	"github.com/giverny/giverny/collectors/registry"
	"github.com/giverny/giverny/schema"
)

// host reads the hardware of this host and the traffic of its adapters. Adapters are
// found as by the source ibsysfs, whether it is enabled or not. Each is read on its own,
// so that an adapter whose driver hangs delays no other.
type host struct {
	log       *slog.Logger
	collector *ibsysfs.Collector
	reads     *reads
}

func newHost(sources registry.Sources, name string, reads *reads, log *slog.Logger) (*host, error) {
	const source = "ibsysfs"
	cfg, ok := sources[source].SourceConfig.(*ibsysfs.Config)
	if !ok {
		return nil, fmt.Errorf("collect.%s: unknown source of adapters", source)
	}
	own := *cfg
	own.Hostname = cmp.Or(own.Hostname, name)
	collector, err := ibsysfs.New(own)
	if err != nil {
		return nil, fmt.Errorf("collect.%s: %w", source, err)
	}
	return &host{log: log, collector: collector, reads: reads}, nil
}

// listName is the name of the listing among the reads.
const listName = "(list of adapters)"

// Hardware reads the current hardware. Adapters that hang are left out.
func (h *host) Hardware() schema.HostHardware {
	all := readMachine("/")
	list, err := within(h.reads, listName, h.collector.Inventory)
	if err != nil {
		h.log.Warn("app: listing this host's adapters failed", "error", err)
		return all
	}
	adapters, errs := make([]schema.Adapter, len(list)), make([]error, len(list))
	var group sync.WaitGroup
	for i, d := range list {
		group.Go(func() {
			adapters[i], errs[i] = within(h.reads, d.Name, func() (schema.Adapter, error) {
				a, _ := d.Read()
				return a, nil
			})
		})
	}
	group.Wait()
	all.Adapters = slices.DeleteFunc(adapters, func(a schema.Adapter) bool { return a.Name == "" })
	if err := errors.Join(errs...); err != nil {
		h.log.Warn("app: adapters of this host cannot be read, left out", "error", err)
	}
	return all
}

// DataBytes is the number of bytes an adapter has sent and received.
func (h *host) DataBytes(adapter string) (uint64, error) {
	return within(h.reads, adapter, func() (uint64, error) { return h.collector.DataBytes(adapter) })
}

// reads runs reads that may hang in the kernel, each in a goroutine that is abandoned
// after the limit. Nothing more is read of a device until its read has returned.
type reads struct {
	limit              time.Duration
	timedOut, notBegun prometheus.Counter

	mu    sync.Mutex
	stuck map[string]time.Time // guarded by mu: since when
}

func newReads(limit time.Duration, reg prometheus.Registerer) (*reads, error) {
	failed := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_host_reads_failed_total",
		Help: "Reads of this host's adapters for commands that failed because the driver hangs: timeout, or stuck in an earlier read."}, []string{"reason"})
	return &reads{limit: limit, stuck: map[string]time.Time{},
		timedOut: failed.WithLabelValues("timeout"), notBegun: failed.WithLabelValues("stuck")}, reg.Register(failed)
}

// within runs a read of a device within the limit.
func within[T any](r *reads, device string, read func() (T, error)) (value T, err error) {
	r.mu.Lock()
	since, stuck := r.stuck[device]
	r.mu.Unlock()
	if stuck {
		r.notBegun.Inc()
		return value, fmt.Errorf("%s: blocked in a read since %s", device, since.UTC().Format(time.RFC3339))
	}
	ended, leftBehind := make(chan func() (T, error)), make(chan struct{})
	go func() {
		v, err := read()
		select {
		case ended <- func() (T, error) { return v, err }:
		case <-leftBehind:
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.stuck, device)
		}
	}()
	timer := time.NewTimer(r.limit)
	defer timer.Stop()
	select {
	case result := <-ended:
		return result()
	case <-timer.C:
	}
	r.timedOut.Inc()
	r.mu.Lock()
	r.stuck[device] = time.Now()
	r.mu.Unlock()
	close(leftBehind)
	return value, fmt.Errorf("%s: its driver did not answer within %v (collect.device_timeout)", device, r.limit)
}

// State names the adapters that hang; "" if there are none.
func (r *reads) State() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.stuck) == 0 {
		return ""
	}
	return collectors.Blocked(slices.Sorted(maps.Keys(r.stuck)), r.stuck)
}
