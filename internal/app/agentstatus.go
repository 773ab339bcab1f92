package app

import (
	"context"
	"sync"
	"time"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/ingest/spool"
	"github.com/giverny/giverny/schema"
)

// collecting is the collecting part of this process, as commands see it.
type collecting struct {
	version string
	started time.Time
	pollers []*collectors.Poller
	spool   *spool.Spool
	// Of an agent that takes commands.
	hardware func() schema.HostHardware
	kinds    []string
}

// Status says what the last polls found.
func (c *collecting) Status() command.AgentStatus {
	status := command.AgentStatus{Version: c.version, Started: schema.Instant(c.started.UnixNano()), SpoolRecords: c.spool.Len()}
	if c.hardware != nil {
		h := c.hardware()
		status.Hardware, status.Kinds = &h, c.kinds
	}
	for _, p := range c.pollers {
		health := p.Health()
		status.Sources = append(status.Sources, sourceStatus(&health))
	}
	return status
}

// Refresh asks all sources side by side; a source that fails says so in its own
// status.
func (c *collecting) Refresh(ctx context.Context) ([]command.SourceStatus, error) {
	list := make([]command.SourceStatus, len(c.pollers))
	var group sync.WaitGroup
	for i, p := range c.pollers {
		group.Go(func() {
			health, err := p.Refresh(ctx)
			list[i] = sourceStatus(&health)
			if err != nil {
				list[i].State, list[i].Error = command.SourceFailing, err.Error()
			}
		})
	}
	group.Wait()
	return list, nil
}

func sourceStatus(h *collectors.Health) command.SourceStatus {
	s := command.SourceStatus{Source: h.Collector, State: command.SourceOK, Devices: h.Devices, Rows: h.Rows, SkippedPolls: h.SkippedPolls}
	if len(h.Failing) > 0 {
		s.State, s.Failing = command.SourceFailing, map[string]string{}
		for device, reason := range h.Failing {
			s.Failing[device] = reason.String()
		}
	}
	if h.Err != nil {
		s.State, s.Error = command.SourceFailing, h.Err.Error()
	}
	if h.LastPoll.IsZero() {
		s.State = command.SourceWaiting
		return s
	}
	s.LastPoll = schema.Instant(h.LastPoll.UnixNano())
	return s
}
