package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/local"
	"github.com/giverny/giverny/hostping/monitor"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/hostping/utilisation"
	"github.com/giverny/giverny/internal/test/metric"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestRangesOfValues(t *testing.T) {
	for _, c := range []struct {
		key    string // of the fault; empty: none
		change func(*monitor.Config)
	}{
		{"", func(*monitor.Config) {}},
		{"", func(c *monitor.Config) {
			c.IdleEvery, c.IdlePercent, c.PausePercent, c.HoldOff = c.CheckEvery, 100, 100, 1
		}},
		{"check_every", func(c *monitor.Config) { c.CheckEvery = 0 }},
		{"idle_every", func(c *monitor.Config) { c.IdleEvery = c.CheckEvery - 1 }},
		{"idle_percent", func(c *monitor.Config) { c.IdlePercent = 0 }},
		{"idle_percent", func(c *monitor.Config) { c.IdlePercent = 100.1 }},
		{"pause_percent", func(c *monitor.Config) { c.PausePercent = 0 }},
		{"pause_percent", func(c *monitor.Config) { c.PausePercent = math.NaN() }},
		{"pause_percent", func(c *monitor.Config) { c.PausePercent = 100.1 }},
		{"hold_off", func(c *monitor.Config) { c.HoldOff = 0 }},
	} {
		cfg := monitor.DefaultConfig()
		c.change(&cfg)
		if err := cfg.Validate(); (err == nil) != (c.key == "") || err != nil && !strings.HasPrefix(err.Error(), c.key+": ") {
			t.Errorf("%+v: %v, want a fault of %q", cfg, err, c.key)
		}
	}
}

func TestDecider(t *testing.T) {
	quiet := utilisation.Change{Share: 0.01}
	both := func(c utilisation.Change) map[string]utilisation.Change {
		return map[string]utilisation.Change{"mlx5_0": quiet, "mlx5_1": c}
	}
	for name, c := range map[string]struct {
		at      time.Duration // since the start
		changes map[string]utilisation.Change
		due     string
		skipped string
	}{
		"too early":         {4 * time.Minute, both(quiet), "", ""},
		"idle":              {5 * time.Minute, both(quiet), "idle ", ""},
		"at the threshold":  {5 * time.Minute, both(utilisation.Change{Share: 0.05}), "idle ", ""},
		"busy":              {5 * time.Minute, both(utilisation.Change{Share: 0.051}), "", "busy"},
		"not known":         {5 * time.Minute, both(utilisation.Change{Share: -1}), "", "unreadable"},
		"first readings":    {5 * time.Minute, nil, "", ""},
		"a pause of 3%":     {time.Second, both(utilisation.Change{PauseShare: 0.03}), "", ""},
		"a longer pause":    {time.Second, both(utilisation.Change{PauseShare: 0.031}), "pause mlx5_1", ""},
		"a drop":            {time.Second, both(utilisation.Change{Drops: 1, Share: 0.9}), "drop mlx5_1", ""},
		"pause before idle": {5 * time.Minute, both(utilisation.Change{PauseShare: 0.5}), "pause mlx5_1", ""},
	} {
		due, skipped := monitor.NewDecider(monitor.DefaultConfig(), start).Step(start.Add(c.at), c.changes)
		got := ""
		if due != nil {
			got = fmt.Sprintf("%s %s", due.Trigger, due.RNIC)
		}
		if got != c.due || skipped != c.skipped {
			t.Errorf("%s: due %q, skipped %q; want %q, %q", name, got, skipped, c.due, c.skipped)
		}
	}
}

// After a run there are readings but no changes yet: what is due runs at the next step, however long the run took.
func TestAnIdleRunAfterALongOne(t *testing.T) {
	d := monitor.NewDecider(monitor.DefaultConfig(), start)
	quiet := map[string]utilisation.Change{"mlx5_0": {}}
	at := start
	for range 3 {
		at = at.Add(6 * time.Minute) // longer than idle_every
		if due, skipped := d.Step(at, nil); due != nil || skipped != "" {
			t.Errorf("without changes: due %v, skipped %q", due, skipped)
		}
		at = at.Add(time.Second)
		if due, skipped := d.Step(at, quiet); due == nil || due.Trigger != order.IdleHost || skipped != "" {
			t.Errorf("with changes: due %v, skipped %q", due, skipped)
		}
	}
}

// An RNIC that keeps pausing triggers one run in 5 minutes, and does not hide another one's.
func TestHoldOff(t *testing.T) {
	d := monitor.NewDecider(monitor.DefaultConfig(), start)
	pausing := utilisation.Change{PauseShare: 0.5}
	var runs []string
	for second := 1; second <= 320; second++ {
		changes := map[string]utilisation.Change{"mlx5_0": pausing, "mlx5_1": {}}
		if second == 10 {
			changes["mlx5_1"] = utilisation.Change{Drops: 3}
		}
		if due, _ := d.Step(start.Add(time.Duration(second)*time.Second), changes); due != nil {
			runs = append(runs, fmt.Sprintf("%d %s %s", second, due.Trigger, due.RNIC))
		}
	}
	if want := []string{"1 pause mlx5_0", "10 drop mlx5_1", "300 idle ", "301 pause mlx5_0"}; !slices.Equal(runs, want) {
		t.Errorf("runs %q, want %q", runs, want)
	}
}

// fake is a host with one RNIC and one GPU.
type fake struct {
	graph hostping.Graph
	runs  []string
	err   error
}

func (f *fake) Graph() *hostping.Graph { return &f.graph }

func (f *fake) Run(_ context.Context, o *local.Order) (order.Outcome, error) {
	f.runs = append(f.runs, fmt.Sprintf("%s %s %s", o.Trigger, o.Mode, o.RNIC))
	return order.Outcome{Trigger: o.Trigger, Report: &hostping.Report{Verdicts: []hostping.Verdict{{Text: "slow"}}}}, f.err
}

type reader func() utilisation.Reading

func (r reader) Read(string) (utilisation.Reading, error) { return r(), nil }

type source map[string]float64

func (s source) Read(context.Context) (hostping.Utilisation, error) {
	return hostping.Utilisation{GPUs: s}, nil
}

func TestMonitor(t *testing.T) {
	idle := func() utilisation.Reading { return utilisation.Reading{At: time.Now(), RateGbps: 100} }
	for name, c := range map[string]struct {
		reading func() utilisation.Reading
		gpus    map[string]float64
		err     error
		runs    []string
		skipped string // a reason that is counted
	}{
		"an idle host":        {idle, map[string]float64{"gpu0": 0}, nil, []string{"idle full ", "idle full "}, ""},
		"a GPU at work":       {idle, map[string]float64{"gpu0": 0.9}, nil, nil, "busy"},
		"a GPU not known":     {idle, nil, nil, nil, "unreadable"},
		"another run goes on": {idle, map[string]float64{"gpu0": 0}, local.ErrRunning, []string{"idle full ", "idle full "}, "running"},
		"pausing": {func() utilisation.Reading {
			return utilisation.Reading{At: time.Now(), RateGbps: 100, PauseMicros: uint64(time.Since(time.Unix(0, 0)).Microseconds() / 2)}
		}, map[string]float64{"gpu0": 1}, nil, []string{"pause affinitive mlx5_0", "pause affinitive mlx5_0", "pause affinitive mlx5_0"}, "hold_off"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{graph: hostping.Graph{RNICs: []hostping.RNIC{{ID: "mlx5_0"}}, Endpoints: []hostping.Endpoint{{ID: "gpu0", Kind: hostping.GPU}}}, err: c.err}
				reg := prometheus.NewRegistry()
				reported := 0
				cfg := monitor.DefaultConfig()
				cfg.Enabled = true
				m, err := monitor.New(cfg, monitor.Deps{Host: f, RNICs: reader(c.reading), Source: source(c.gpus), Log: slog.New(slog.DiscardHandler), Registerer: reg, Now: time.Now,
					Report: func(context.Context, order.Outcome) error { reported++; return errors.New("no room") }})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute+10*time.Second)
				defer cancel()
				if err := m.Run(ctx); err != nil {
					t.Error(err)
				}
				want := len(c.runs)
				if c.err != nil {
					want = 0
				}
				if !slices.Equal(f.runs, c.runs) || reported != want {
					t.Errorf("runs %q, %d reported; want %q", f.runs, reported, c.runs)
				}
				if got := metric.Sum(t, reg, "giverny_hostping_monitor_reports_dropped_total"); got != float64(want) {
					t.Errorf("%g reports dropped, want %d", got, want)
				}
				if n, err := testutil.GatherAndCount(reg, "giverny_hostping_monitor_skipped_total"); err != nil || n != 4 {
					t.Errorf("%d reasons, %v", n, err)
				}
				if c.skipped != "" && metric.Sum(t, reg, "giverny_hostping_monitor_skipped_total", c.skipped) == 0 {
					t.Errorf("nothing is counted as %s", c.skipped)
				}
			})
		})
	}
}
