package collectors_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/collectors"
)

// remembering caches its devices until it is refreshed.
type remembering struct {
	fake
	there     []collectors.Device
	refreshes int
}

func (r *remembering) Refresh() {
	r.refreshes++
	r.devices = r.there
}

func TestRefreshListsDevicesBetweenPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &remembering{fake: fake{devices: []collectors.Device{steady("old")}}, there: []collectors.Device{steady("old"), steady("new")}}
		r := newRig(t, c, nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.poller.Run(ctx) }()
		time.Sleep(2500 * time.Millisecond)
		rows := r.metric(t, "rows_total")
		health, err := r.poller.Refresh(ctx)
		if err != nil || health.Devices != 2 || c.refreshes != 1 || r.metric(t, "devices") != 2 {
			t.Errorf("%+v, %v, %d refreshes", health, err, c.refreshes)
		}
		if r.metric(t, "rows_total") != rows {
			t.Error("a refresh read counters")
		}
		time.Sleep(time.Second)
		if got := r.metric(t, "rows_total"); got != rows+2 || r.metric(t, "polls_skipped_total") != 0 {
			t.Errorf("%v rows after the next poll, %v before the refresh", got, rows)
		}
		c.err = errors.New("no subnet manager")
		if _, err := r.poller.Refresh(ctx); err == nil || !strings.Contains(err.Error(), "no subnet manager") {
			t.Errorf("error %v", err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestRefreshOfAPollerThatDoesNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &fake{}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.poller.Refresh(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}
