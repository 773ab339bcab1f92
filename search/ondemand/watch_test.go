package ondemand

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/engine"
)

// counting records the maximum number of concurrent experiments.
type counting struct {
	engine.Engine
	running, most *atomic.Int32
}

func (e counting) Measure(context.Context, int, search.Workload) (search.Measurement, error) {
	now := e.running.Add(1)
	defer e.running.Add(-1)
	for most := e.most.Load(); now > most && !e.most.CompareAndSwap(most, now); most = e.most.Load() {
	}
	time.Sleep(5 * time.Millisecond)
	return search.Measurement{}, nil
}

// The pairs of a search share this host's adapter: one measures at a time, even without
// a check for other traffic.
func TestOneExperimentAtATime(t *testing.T) {
	cfg := DefaultConfig()
	cfg.OthersGbps = 0
	w := &watch{cfg: &cfg, adapter: "mlx5_0", limit: 1}
	e := counting{running: &atomic.Int32{}, most: &atomic.Int32{}}
	var pairs sync.WaitGroup
	for range 3 {
		pairs.Go(func() {
			pair := &watched{e, w}
			for id := range 5 {
				if _, err := pair.Measure(t.Context(), id, search.Workload{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	pairs.Wait()
	if most := e.most.Load(); most != 1 {
		t.Errorf("%d experiments at once", most)
	}
}
