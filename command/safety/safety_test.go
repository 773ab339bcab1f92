package safety_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/command/safety"
)

func TestNothingIsAllowedByDefault(t *testing.T) {
	cfg := safety.DefaultConfig()
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	if _, no := safety.New(cfg).Allowed(safety.Order{Principal: "operator", Kind: "hostping.probe", Agent: "n1"}); no == nil || no.Reason != safety.NotAllowed {
		t.Errorf("refusal %v, want %s", no, safety.NotAllowed)
	}
}

func TestAllowList(t *testing.T) {
	cfg := safety.DefaultConfig()
	cfg.Allow = []safety.Rule{
		{Principals: []string{"operator"}, Kinds: []string{"hostping.*"}, Hosts: []string{"gpu-*"}, RequireDrained: true},
		{Principals: []string{"ci-*", "operator"}, Kinds: []string{"search.run"}},
		{Principals: []string{"*"}, Kinds: []string{"hostping.status"}},
		{Principals: []string{"*"}, Kinds: []string{"search.list"}, Hosts: []string{"*"}},
	}
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	guard := safety.New(cfg)
	for _, c := range []struct {
		principal, kind, agent string
		allowed, drained       bool
	}{
		{"operator", "hostping.probe", "gpu-7", true, true},
		{"operator", "hostping.probe", "login1", false, false},
		{"operator", "hostping.status", "gpu-7", true, false}, // the less demanding rule takes precedence
		{"mallory", "hostping.status", "login1", true, false},
		{"mallory", "hostping.probe", "gpu-7", false, false},
		{"ci-nightly", "search.run", "rack1/gpu-7", true, false},
		{"ci", "search.list", "rack1/gpu-7", true, false},
		{"ci", "search.run", "gpu-7", false, false},
		{"operator", "search.running", "gpu-7", false, false},
		{"operator", "hostping", "gpu-7", false, false},
	} {
		rule, no := guard.Allowed(safety.Order{Principal: c.principal, Kind: c.kind, Agent: c.agent})
		if (no == nil) != c.allowed || c.allowed && rule.RequireDrained != c.drained {
			t.Errorf("%s %s on %s: rule %+v, refusal %v", c.principal, c.kind, c.agent, rule, no)
		}
	}
}

// Of several rules that cover an order, those without require_drained take precedence, then the longest run time,
// in whichever order they are listed.
func TestTheOrderOfRulesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := safety.DefaultConfig()
		drained, longest := true, time.Duration(0)
		for range rapid.IntRange(1, 4).Draw(t, "rules") {
			r := safety.Rule{Principals: []string{"*"}, Kinds: []string{"*"}, RequireDrained: rapid.Bool().Draw(t, "drained"),
				RunTime: time.Duration(rapid.IntRange(0, 3).Draw(t, "seconds")) * time.Second}
			cfg.Allow = append(cfg.Allow, r)
			runTime := cmp.Or(r.RunTime, cfg.Limits.RunTime)
			switch {
			case r.RequireDrained == drained:
				longest = max(longest, runTime)
			case drained:
				drained, longest = false, runTime
			}
		}
		cfg.Allow = rapid.Permutation(cfg.Allow).Draw(t, "rules")
		p, no := safety.New(cfg).Allowed(safety.Order{Principal: "a", Kind: "b", Agent: "c"})
		if no != nil || p.RequireDrained != drained || p.RunTime != longest {
			t.Fatalf("%+v, %v; want drained %v, %v", p, no, drained, longest)
		}
	})
}

func TestLimits(t *testing.T) {
	const minute = int64(time.Minute)
	guard := safety.NewQuota(safety.Limits{AtATime: 2, PerHour: 3, RunTime: time.Minute})
	want := func(now int64, reason safety.Reason) {
		t.Helper()
		no := guard.Room(now)
		if reason == "" && no != nil || reason != "" && (no == nil || no.Reason != reason) {
			t.Errorf("at minute %d: %v, want %q", now/minute, no, reason)
		}
	}
	want(0, "")
	guard.Begin("a", 0)
	want(1*minute, "")
	guard.Begin("b", 1*minute)
	want(2*minute, safety.TooMany)
	guard.End("a")
	guard.End("never begun")
	want(2*minute, "")
	guard.Begin("c", 2*minute)
	guard.End("b")
	guard.End("c")
	want(59*minute, safety.TooOften)
	if no := guard.Room(59 * minute); !strings.Contains(no.Detail, "in 1m0s") {
		t.Errorf("refusal %q does not say when the next may begin", no)
	}
	want(60*minute, "")
	guard.Began(60 * minute) // of an earlier process
	want(60*minute, safety.TooOften)
	want(61*minute, "")
}

// The naive twin keeps all starts and counts those of the last hour.
func TestTheHourAgreesWithANaiveCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		guard := safety.NewQuota(safety.Limits{AtATime: 1, PerHour: limit})
		var starts []int64
		now := int64(0)
		for range 60 {
			now += rapid.Int64Range(0, int64(30*time.Minute)).Draw(t, "step")
			recent := 0
			for _, s := range starts {
				if s > now-int64(time.Hour) {
					recent++
				}
			}
			no := guard.Room(now)
			if (no == nil) != (recent < limit) {
				t.Fatalf("%d starts within the hour, limit %d: %v", recent, limit, no)
			}
			if no == nil {
				guard.Begin("x", now)
				guard.End("x")
				starts = append(starts, now)
			}
		}
	})
}

func TestValidateNamesEveryFault(t *testing.T) {
	cfg := safety.Config{Allow: []safety.Rule{{Hosts: []string{"[", ""}}, {Principals: []string{"a["}, Kinds: []string{"*", "b["}}}}
	err := cfg.Validate()
	for _, key := range []string{"allow.0.principals: empty", "allow.0.kinds: empty", "allow.0.hosts.0:", "allow.0.hosts.1:", "allow.1.principals.0:", "allow.1.kinds.1:", "limits.at_a_time: 0", "limits.per_hour: 0", "limits.run_time: 0s"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("no fault of %s in %v", key, err)
		}
	}
}

// Each limit may be as low and as high as stated, and no further.
func TestTheRangesOfLimits(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		change func(*safety.Config)
		ok     bool
	}{
		{func(c *safety.Config) { c.Limits.AtATime = 64 }, true}, {func(c *safety.Config) { c.Limits.AtATime = 65 }, false},
		{func(c *safety.Config) { c.Limits.PerHour = 1 }, true}, {func(c *safety.Config) { c.Limits.PerHour = 3600 }, true},
		{func(c *safety.Config) { c.Limits.PerHour = 3601 }, false},
		{func(c *safety.Config) { c.Limits.RunTime = time.Second }, true}, {func(c *safety.Config) { c.Limits.RunTime = time.Second - 1 }, false},
		{func(c *safety.Config) { c.Limits.RunTime = day }, true}, {func(c *safety.Config) { c.Limits.RunTime = day + 1 }, false},
		{func(c *safety.Config) { c.Allow[0].RunTime = time.Second }, true}, {func(c *safety.Config) { c.Allow[0].RunTime = time.Second - 1 }, false},
		{func(c *safety.Config) { c.Allow[0].RunTime = day }, true}, {func(c *safety.Config) { c.Allow[0].RunTime = day + 1 }, false},
	} {
		cfg := safety.DefaultConfig()
		cfg.Allow = []safety.Rule{{Principals: []string{"*"}, Kinds: []string{"*"}}}
		c.change(&cfg)
		if err := cfg.Validate(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}
