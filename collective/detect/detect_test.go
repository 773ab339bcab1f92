package detect

import "testing"

const us = 1000

// agent begins step 1, of 100 us alone, at 0.
func agent(cfg Config) *Agent {
	a := New(cfg)
	a.Begin(0, 1, 100*us)
	return a
}

func TestStepAwareDetection(t *testing.T) {
	cfg := DefaultConfig()
	cfg.PollsPerStep, cfg.BackOff = 2, false
	slow := cfg.ThresholdNanos + 1
	a := agent(cfg)
	if a.Observe(50*us, slow) {
		t.Error("polled though no rank waits")
	}
	a.Waited(1)
	if a.Observe(60*us, cfg.ThresholdNanos) {
		t.Error("polled though round trips are short")
	}
	if !a.Observe(70*us, slow) {
		t.Error("did not poll though waited for and slow")
	}
	if a.Observe(80*us, slow) {
		t.Error("polled twice at once")
	}
	if !a.Observe(170*us, slow) || a.Observe(900*us, slow) {
		t.Error("want a second poll after the step's time alone, and no third")
	}
	if a.End(false); a.Observe(1000*us, slow) {
		t.Error("polled between steps")
	}
}

func TestAStepThatIsOverdueIsPolled(t *testing.T) {
	cfg := DefaultConfig()
	a := agent(cfg)
	if a.Observe(149*us, cfg.ThresholdNanos+1) || !a.Observe(151*us, cfg.ThresholdNanos+1) {
		t.Error("want a poll from 1.5 times the time alone")
	}
	if a = agent(cfg); a.Observe(199*us, 0) || !a.Observe(201*us, 0) {
		t.Error("want a poll from twice the time alone, whatever the round trip")
	}
}

func TestNotifications(t *testing.T) {
	cfg := DefaultConfig()
	a := agent(cfg)
	a.Waited(2) // for a step that has not begun
	if a.Observe(50*us, cfg.ThresholdNanos+1) {
		t.Error("polled in a step that no rank waits for")
	}
	if !a.End(true) || a.Notices() != 1 {
		t.Errorf("a rank whose data is missing is notified once, at %d notices", a.Notices())
	}
	a.Begin(100*us, 2, 100*us)
	if !a.Observe(150*us, cfg.ThresholdNanos+1) {
		t.Error("the notification that came before the step was forgotten")
	}
	a.End(false)
	a.Begin(200*us, 3, 100*us)
	if a.Observe(250*us, cfg.ThresholdNanos+1) {
		t.Error("a notification counted twice")
	}
	if a.End(false) {
		t.Error("notified though all data is there")
	}
}

// TestBackOff: of consecutive slow steps the first, third and sixth are polled, and the
// next one after a step that is not slow.
func TestBackOff(t *testing.T) {
	cfg := DefaultConfig()
	a := New(cfg)
	polled := ""
	for step := range 10 {
		now := int64(step) * 1000 * us
		a.Begin(now, step, 100*us)
		a.Waited(step)
		roundTrip := cfg.ThresholdNanos + 1
		if step == 7 {
			roundTrip = 0
		}
		was := a.Observe(now+us, roundTrip)
		again := a.Observe(now+90*us, roundTrip)
		polled += map[bool]string{true: "x", false: "."}[was || again]
		a.End(false)
	}
	if want := "x.x..x..x."; polled != want {
		t.Errorf("polled in steps %s, want %s", polled, want)
	}
}

func TestTheBudget(t *testing.T) {
	cfg := DefaultConfig()
	a := agent(cfg)
	a.Waited(1)
	a.Spend(cfg.BudgetBytes)
	if a.Observe(50*us, cfg.ThresholdNanos+1) {
		t.Error("polled beyond the budget")
	}
}

func TestRigidModes(t *testing.T) {
	cfg := DefaultConfig()
	for mode, want := range map[Mode][3]bool{Threshold: {false, true, true}, Periodic: {true, true, true}, Off: {}} {
		cfg.Mode = mode
		a := agent(cfg)
		got := [3]bool{a.Observe(0, 0), a.Observe(cfg.IntervalNanos, cfg.ThresholdNanos+1), a.Observe(2*cfg.IntervalNanos, cfg.ThresholdNanos+1)}
		if got != want || a.Observe(2*cfg.IntervalNanos+1, cfg.ThresholdNanos+1) || a.End(true) {
			t.Errorf("%s: %v, want %v, one poll per interval and no notification", mode, got, want)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*Config){func(c *Config) { c.Mode = "odd" }, func(c *Config) { c.Overdue = 0 }, func(c *Config) { c.IntervalNanos = 0 }} {
		cfg := DefaultConfig()
		if change(&cfg); cfg.Validate() == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
}
