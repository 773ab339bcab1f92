package app

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/giverny/giverny/collectors/ibsysfs"
	"github.com/giverny/giverny/collectors/registry"
	"github.com/giverny/giverny/internal/hardware"
	"github.com/giverny/giverny/schema"
)

// host reads the hardware of this host and the traffic of its adapters. Adapters are
// found as by the source ibsysfs, whether it is enabled or not.
type host struct {
	log *slog.Logger

	mu        sync.Mutex
	collector *ibsysfs.Collector // guarded by mu
}

func newHost(sources registry.Sources, name string, log *slog.Logger) (*host, error) {
	const source = "ibsysfs"
	cfg, ok := sources[source].SourceConfig.(*ibsysfs.Config)
	if !ok {
		return nil, fmt.Errorf("collect.%s: unknown source of adapters", source)
	}
	own := *cfg
	if own.Hostname == "" {
		own.Hostname = name
	}
	collector, err := ibsysfs.New(own)
	if err != nil {
		return nil, fmt.Errorf("collect.%s: %w", source, err)
	}
	return &host{log: log, collector: collector}, nil
}

// Hardware reads the current hardware.
func (h *host) Hardware() schema.HostHardware {
	all := hardware.Read("/")
	h.mu.Lock()
	defer h.mu.Unlock()
	var err error
	if all.Adapters, err = h.collector.Inventory(context.Background()); err != nil {
		h.log.Warn("app: listing this host's adapters failed", "error", err)
	}
	return all
}

// DataBytes is the number of bytes an adapter has sent and received.
func (h *host) DataBytes(adapter string) (uint64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.collector.DataBytes(adapter)
}
