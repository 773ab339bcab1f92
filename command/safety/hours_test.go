package safety_test

import (
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/command/safety"
)

// at is a time of some day, ns since 1970.
func at(t *testing.T, clock string) int64 {
	t.Helper()
	day, err := time.Parse("2006-01-02 15:04:05", "2026-11-22 "+clock)
	if err != nil {
		t.Fatal(err)
	}
	return day.UnixNano()
}

func TestHours(t *testing.T) {
	cfg := safety.DefaultConfig()
	cfg.Allow = []safety.Rule{
		{Principals: []string{"operator"}, Kinds: []string{"search"}, Hours: []string{"22:00-06:00", "12:00-12:30"}, RunTime: 5 * time.Hour},
		{Principals: []string{"operator"}, Kinds: []string{"hostping"}, RunTime: 2 * time.Minute},
		{Principals: []string{"operator"}, Kinds: []string{"hostping"}, RunTime: time.Minute},
		{Principals: []string{"operator"}, Kinds: []string{"other"}},
	}
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	guard := safety.New(cfg)
	for _, c := range []struct {
		clock, kind string
		want        time.Duration // 0: refused
	}{
		{"22:00:00", "search", 5 * time.Hour}, {"23:59:59", "search", 5 * time.Hour}, {"00:00:00", "search", 5 * time.Hour},
		{"05:00:00", "search", time.Hour}, {"05:59:59", "search", time.Second}, {"06:00:00", "search", 0}, {"21:59:59", "search", 0},
		{"12:10:00", "search", 20 * time.Minute}, {"12:30:00", "search", 0},
		{"15:00:00", "hostping", 2 * time.Minute}, {"15:00:00", "other", cfg.Limits.RunTime},
	} {
		p, no := guard.Allowed(safety.Order{Principal: "operator", Kind: c.kind, Agent: "n1", AtNanos: at(t, c.clock)})
		if c.want == 0 {
			if no == nil || no.Reason != safety.OutOfHours || !strings.Contains(no.Detail, "22:00-06:00, 12:00-12:30 UTC") {
				t.Errorf("%s %s: %+v, %v", c.clock, c.kind, p, no)
			}
		} else if no != nil || p.RunTime != c.want {
			t.Errorf("%s %s: %+v, %v, want %v", c.clock, c.kind, p, no, c.want)
		}
	}
}

func TestBadHoursAreFaults(t *testing.T) {
	cfg := safety.DefaultConfig()
	cfg.Allow = []safety.Rule{{Principals: []string{"*"}, Kinds: []string{"*"}, Hours: []string{"22-06", "25:00-01:00", "10:00-10:00", "10:00", "", "10:00-25:00"}, RunTime: -1}}
	err := cfg.Validate()
	for _, key := range []string{"hours.0", "hours.1", "hours.2", "hours.3", "hours.4", "hours.5", "allow.0.run_time"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("no fault of %s in %v", key, err)
		}
	}
}
