package agent

import (
	"context"
	"sync"
	"time"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/ingest/spool"
	"github.com/giverny/giverny/schema"
)

// collecting is the collecting part of this process as exposed to commands.
type collecting struct {
	version string
	started time.Time
	pollers []*collectors.Poller
	spool   *spool.Spool
	// Only for agents that accept commands.
	hardware func() schema.HostHardware
	kinds    []string
}

// Status returns the results of the last polls.
func (c *collecting) Status() command.AgentStatus {
	status := command.AgentStatus{Version: c.version, Started: schema.InstantOf(c.started), SpoolRecords: c.spool.Len()}
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

// Refresh refreshes all sources in parallel; errors are reported in each source's
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
	s.LastPoll = schema.InstantOf(h.LastPoll)
	return s
}
