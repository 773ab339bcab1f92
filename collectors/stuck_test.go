package collectors_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/schema"
)

func TestStuckDeviceIsLeftBehindAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := 0
		hung := device{"hung", func(_ context.Context, r *collectors.Reading) error {
			r.Row("set", schema.PortName{Device: "hung", Port: "1"})
			r.Put("a.b", 1)
			if begun++; begun == 1 {
				time.Sleep(3300 * time.Millisecond) // ignores its context
			}
			return nil
		}}
		r := newRig(t, &fake{devices: []collectors.Device{steady("a"), hung, steady("b")}}, nil)
		r.run(t, 6500*time.Millisecond) // polls at 1 .. 6; it hangs from 1 to 4.3
		rows := map[string]int{}
		for _, b := range r.recorder.Batches() {
			for _, p := range b.PortIndex {
				rows[b.Ports[p].Device]++
			}
		}
		if rows["a"] != 6 || rows["b"] != 6 || rows["hung"] != 2 || begun != 3 {
			t.Errorf("rows %v, %d reads begun; want a and b 6 times, hung twice of 3", rows, begun)
		}
		for reason, want := range map[string]float64{"timeout": 1, "stuck": 3, "failed": 0} {
			if got := r.metric(t, "device_errors_total", reason); got != want {
				t.Errorf("device_errors_total{reason=%q} = %v, want %v", reason, got, want)
			}
		}
		if late := r.metric(t, "rows_dropped_total", "late"); late != 1 {
			t.Errorf("%v rows counted as late, want 1", late)
		}
		if stuck := r.metric(t, "devices_stuck"); stuck != 0 {
			t.Errorf("%v devices stuck at the end", stuck)
		}
		// The first failure, the change of its reason, and the recovery; not every poll.
		if lines := strings.Count(r.log.String(), "examples=[hung]"); lines != 3 {
			t.Errorf("%d lines logged about the device:\n%s", lines, r.log)
		}
	})
}

func TestStuckDevicesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		hang := func(context.Context, *collectors.Reading) error { <-release; return nil }
		var devices []collectors.Device
		for i := range 5 {
			devices = append(devices, device{fmt.Sprint("hung", i), hang})
		}
		r := newRig(t, &fake{devices: devices}, func(c *collectors.Config) {
			c.MaxStuck, c.Workers, c.DeviceTimeout = 2, 1, 100*time.Millisecond
		})
		r.run(t, 2500*time.Millisecond)
		if stuck := r.metric(t, "devices_stuck"); stuck != 2 {
			t.Errorf("%v devices stuck, want 2", stuck)
		}
		if left := r.metric(t, "devices_abandoned_total"); left != 2 {
			t.Errorf("%v devices abandoned, want 2", left)
		}
		close(release)
	})
}

func TestPollDeadlineLeavesTheRestUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		obedient := func(ctx context.Context, r *collectors.Reading) error {
			r.Row("set", schema.PortName{Device: "x", Port: "1"})
			r.Put("a.b", 1)
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(400 * time.Millisecond):
				return nil
			}
		}
		r := newRig(t, &fake{devices: []collectors.Device{device{"a", obedient}, device{"b", obedient}, device{"c", obedient}, device{"d", obedient}}},
			func(c *collectors.Config) { c.Workers = 1 })
		r.run(t, 1950*time.Millisecond)
		if to, un := r.metric(t, "device_errors_total", "timeout"), r.metric(t, "device_errors_total", "unread"); to != 1 || un != 1 {
			t.Errorf("%v timeouts, %v unread; want 1 and 1", to, un)
		}
		if rows := r.metric(t, "rows_total"); rows != 3 { // the row of the stopped device counts
			t.Errorf("%v rows, want 3", rows)
		}
	})
}

func TestListingThatFailsOrHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fake{devices: []collectors.Device{steady("a")}, err: errors.New("no such folder")}
		r := newRig(t, c, nil)
		r.run(t, 2500*time.Millisecond)
		if n := r.metric(t, "inventory_errors_total", "failed"); n != 2 {
			t.Errorf("%v failures counted, want 2", n)
		}
		if rows := r.metric(t, "rows_total"); rows != 2 {
			t.Errorf("%v rows: what is still known must be read", rows)
		}
		if h := r.poller.Health(); h.Err == nil || len(h.Failing) != 1 {
			t.Errorf("health: %+v", h)
		}
		hung := &fake{listing: func() { time.Sleep(1200 * time.Millisecond) }}
		r = newRig(t, hung, nil)
		r.run(t, 2990*time.Millisecond)
		if n := r.metric(t, "inventory_errors_total", "stuck"); n != 1 {
			t.Errorf("%v lists found stuck, want 1", n)
		}
		if n := r.metric(t, "inventory_errors_total", "timeout"); n != 1 {
			t.Errorf("%v timeouts counted, want 1", n)
		}
	})
}

// stamper is an emitter that records how long after the boundary the rows of a device arrive.
type stamper map[string][]time.Duration

func (s stamper) Emit(_ context.Context, b *schema.CounterBatch) error {
	for _, p := range b.PortIndex {
		name := b.Ports[p].Device
		s[name] = append(s[name], time.Duration(time.Now().UnixNano()%int64(time.Second)))
	}
	return nil
}

// A rack without power: its exporters do not answer, and there are more than a poll has time for.
func TestDeadDevicesDelayNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dead := true
		devices := make([]collectors.Device, 0, 61)
		for i := range 60 {
			devices = append(devices, device{fmt.Sprintf("dead%02d", i), func(ctx context.Context, r *collectors.Reading) error {
				if dead {
					<-ctx.Done()
					return ctx.Err()
				}
				return steady(fmt.Sprintf("dead%02d", i)).Read(ctx, r)
			}})
		}
		arrived := stamper{}
		r := &rig{reg: prometheus.NewRegistry(), log: &bytes.Buffer{}}
		p := r.with(t, &fake{devices: append(devices, steady("alive"))}, arrived, func(cfg *collectors.Config) {
			cfg.DeviceTimeout, cfg.Workers = 200*time.Millisecond, 8
		})
		run := func(d time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			if err := p.Run(ctx); err != nil {
				t.Error(err)
			}
		}
		run(5500 * time.Millisecond)
		if at := arrived["alive"]; len(at) < 4 || at[len(at)-1] > 10*time.Millisecond {
			t.Errorf("rows of the healthy device %v after the boundaries of 5 polls", at)
		}
		if got := r.log.String(); !strings.Contains(got, "timed out after 200ms; see collect.device_timeout: context deadline exceeded") {
			t.Errorf("log:\n%s", got)
		}
		dead = false
		run(3 * time.Second)
		if n := len(arrived); n != 61 {
			t.Errorf("rows of %d of 61 devices after all came back", n)
		}
	})
}
