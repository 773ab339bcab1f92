package collectors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/schema"
)

// Agent is what the pollers of a process share: the name they report under and the
// emitter.
type Agent struct {
	name    string
	emitter Emitter
	log     *slog.Logger
	metrics *metrics

	emitting sync.Mutex // held while emitting: an emitter takes one batch at a time
}

// NewAgent returns an agent. name is usually the host name.
func NewAgent(name string, e Emitter, log *slog.Logger, reg prometheus.Registerer) (*Agent, error) {
	if name == "" {
		return nil, errors.New("agent: no name; give it the name of this host")
	}
	m, err := newMetrics(reg)
	if err != nil {
		return nil, fmt.Errorf("agent %q: %w", name, err)
	}
	return &Agent{name: name, emitter: e, log: log, metrics: m}, nil
}

// emit emits the batch under the agent's name.
func (a *Agent) emit(ctx context.Context, b *schema.CounterBatch) error {
	a.emitting.Lock()
	defer a.emitting.Unlock()
	b.Agent = a.name
	return a.emitter.Emit(ctx, b)
}
