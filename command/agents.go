package command

import (
	"context"
	"encoding/json"

	"github.com/giverny/giverny/schema"
)

// AgentStatus is an agent's status, the output of agents.list.
type AgentStatus struct {
	Version      string         `json:"version"`
	Started      schema.Instant `json:"started"`
	Sources      []SourceStatus `json:"sources"`
	SpoolRecords int            `json:"spool_records"` // waiting for Kafka
	// Hardware of the host; nil from older agents.
	Hardware *schema.HostHardware `json:"hardware,omitempty"`
	// Kinds that it implements in addition to the harmless ones, allowed or not.
	Kinds []string `json:"kinds,omitempty"`
}

// SourceStatus is the status of one source of counters at its last poll.
type SourceStatus struct {
	Source       string            `json:"source"`
	State        string            `json:"state"`              // ok, failing or waiting (for the first poll)
	LastPoll     schema.Instant    `json:"last_poll,omitzero"` // when its last poll ended
	Devices      int               `json:"devices"`
	Rows         int               `json:"rows"`
	SkippedPolls int               `json:"skipped_polls"`
	Failing      map[string]string `json:"failing,omitempty"` // reason by device
	Error        string            `json:"error,omitempty"`
}

// States of a source.
const (
	SourceOK      = "ok"
	SourceFailing = "failing"
	SourceWaiting = "waiting"
)

// LastPoll returns the latest poll of all sources.
func (s *AgentStatus) LastPoll() (last schema.Instant) {
	for i := range s.Sources {
		last = max(last, s.Sources[i].LastPoll)
	}
	return last
}

// Collecting is the collector of a process, as used by agents.list and agents.refresh.
type Collecting interface {
	Status() AgentStatus
	// Refresh makes every source list its devices again and returns what it found.
	Refresh(ctx context.Context) ([]SourceStatus, error)
}

// AgentHandlers returns the handlers of agents.list and agents.refresh.
func AgentHandlers(c Collecting) []Handler { return []Handler{listHandler{c}, refreshHandler{c}} }

type listHandler struct{ of Collecting }

func (listHandler) Kind() string { return KindList }

func (h listHandler) Run(context.Context, Call) (json.RawMessage, error) {
	return json.Marshal(h.of.Status())
}

// DryRun is the same as Run, which changes nothing.
func (h listHandler) DryRun(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
	return h.Run(ctx, Call{})
}

// Refreshed is the output of agents.refresh.
type Refreshed struct {
	Sources []SourceStatus `json:"sources"`
}

type refreshHandler struct{ of Collecting }

func (refreshHandler) Kind() string { return KindRefresh }

func (h refreshHandler) Run(ctx context.Context, _ Call) (json.RawMessage, error) {
	sources, err := h.of.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	return json.Marshal(Refreshed{sources})
}

// DryRun names the sources that would be refreshed.
func (h refreshHandler) DryRun(context.Context, json.RawMessage) (json.RawMessage, error) {
	return json.Marshal(Refreshed{h.of.Status().Sources})
}
