package command

import (
	"crypto/ed25519"
	"encoding/base64"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/schema"
)

// TestJudge is a table of all refusals, with the answer for each.
func TestJudge(t *testing.T) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	cfg := DefaultConfig()
	cfg.Principals = []Principal{{Name: "operator", Keys: []string{base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))}}}
	cfg.Allow = []safety.Rule{{Principals: []string{"operator"}, Kinds: []string{"test.act", "test.none"}, Hosts: []string{"gpu-*"}}}
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) schema.Instant { return schema.InstantOf(now.Add(d)) }
	for _, c := range []struct {
		name   string
		change func(c *schema.Command, g *gate)
		tamper func(c *schema.Command) // after signing
		reason safety.Reason           // empty: executed
		silent bool
		detail string
		brief  bool // counted and limited in run time as harmless
	}{
		{name: "good"},
		{name: "dry run", change: func(c *schema.Command, _ *gate) { c.DryRun = true }, brief: true},
		{name: "by name", change: func(c *schema.Command, _ *gate) { c.Targets = []string{"gpu-8", "gpu-7"} }},
		{name: "harmless without a rule", change: func(c *schema.Command, _ *gate) { c.Kind = KindList }, brief: true},
		{name: "other fabric", change: func(c *schema.Command, _ *gate) { c.Fabric = "g" }, reason: WrongFabric, silent: true},
		{name: "unknown principal", tamper: func(c *schema.Command) { c.Principal = "root" }, reason: UnknownPrincipal, detail: "add it to command.principals"},
		{name: "changed", tamper: func(c *schema.Command) { c.Kind = "test.none" }, reason: BadSignature, detail: "the command was modified"},
		{name: "not signed", tamper: func(c *schema.Command) { c.Signature = nil }, reason: BadSignature},
		{name: "changed, of others", tamper: func(c *schema.Command) { c.Targets = []string{"gpu-8"} }, reason: BadSignature, silent: true},
		{name: "changed, under the id of one that is known", change: func(c *schema.Command, g *gate) { g.memory.index[c.ID] = &remembered{} },
			tamper: func(c *schema.Command) { c.Kind = "test.none" }, reason: BadSignature, silent: true},
		{name: "known already", change: func(c *schema.Command, g *gate) { g.memory.index[c.ID] = &remembered{} }, reason: Duplicate, silent: true},
		{name: "known already and expired", change: func(c *schema.Command, g *gate) {
			g.memory.index[c.ID] = &remembered{}
			c.Issued, c.Expires = at(-5*time.Minute), at(-4*time.Minute)
		}, reason: Duplicate, silent: true},
		{name: "before the memory", change: func(_ *schema.Command, g *gate) { g.memory.content.Since = at(0) }, reason: BeforeStart, silent: true},
		{name: "too long", change: func(c *schema.Command, _ *gate) { c.Expires = at(time.Hour) }, reason: TooLongValid, detail: "max_validity of gpu-7 is 10m0s"},
		{name: "expired", change: func(c *schema.Command, _ *gate) { c.Issued, c.Expires = at(-5*time.Minute), at(-4*time.Minute) }, reason: Expired,
			detail: "expired 4m0s ago by the clock of gpu-7 (2026-01-05T12:00:00Z); if it was just sent, synchronise that clock"},
		{name: "expired, of others", change: func(c *schema.Command, _ *gate) {
			c.Issued, c.Expires, c.Targets = at(-5*time.Minute), at(-4*time.Minute), []string{"x"}
		}, reason: Expired, silent: true},
		{name: "valid for as long as a command may be", change: func(c *schema.Command, _ *gate) { c.Expires = c.Issued + schema.Instant(cfg.MaxValidity) }},
		{name: "expired, at the tolerance", change: func(c *schema.Command, _ *gate) { c.Issued, c.Expires = at(-time.Minute), at(-cfg.ClockTolerance) }},
		{name: "from the future, at the tolerance", change: func(c *schema.Command, _ *gate) { c.Issued = at(cfg.ClockTolerance) }},
		{name: "expired, within the tolerance", change: func(c *schema.Command, _ *gate) { c.Expires = at(-500 * time.Millisecond) }},
		{name: "from the future", change: func(c *schema.Command, _ *gate) { c.Issued, c.Expires = at(2*time.Minute), at(3*time.Minute) }, reason: FromTheFuture,
			detail: "issued 2m0s in the future by the clock of gpu-7"},
		{name: "from the future, within the tolerance", change: func(c *schema.Command, _ *gate) { c.Issued = at(9 * time.Second) }},
		{name: "of others", change: func(c *schema.Command, _ *gate) { c.Targets = []string{"gpu-1?", "login*"} }, reason: NotForThis, silent: true},
		{name: "no handler", change: func(c *schema.Command, _ *gate) { c.Kind = "test.none" }, reason: UnknownKind, detail: "does not support test.none"},
		{name: "not allowed", change: func(c *schema.Command, _ *gate) { c.Kind = "test.other" }, reason: safety.NotAllowed, detail: "command.allow"},
		{name: "not allowed here", change: func(c *schema.Command, g *gate) { g.agent, c.Targets = "login1", []string{"login1"} }, reason: safety.NotAllowed},
		{name: "too many", change: func(_ *schema.Command, g *gate) { g.acting.Begin("other", int64(at(0))) }, reason: safety.TooMany, detail: "limits.at_a_time"},
		{name: "too many, dry run", change: func(c *schema.Command, g *gate) { c.DryRun = true; g.acting.Begin("other", int64(at(0))) }, reason: safety.TooMany},
		{name: "too many do not hinder a list", change: func(c *schema.Command, g *gate) { c.Kind = KindList; g.acting.Begin("other", int64(at(0))) }, brief: true},
		{name: "too many lists", change: func(c *schema.Command, g *gate) {
			c.Kind = KindList
			for _, id := range []string{"1", "2", "3", "4"} {
				g.harmless.Begin(id, int64(at(0)))
			}
		}, reason: safety.TooMany},
		{name: "too many lists do not hinder an act", change: func(_ *schema.Command, g *gate) {
			for _, id := range []string{"1", "2", "3", "4"} {
				g.harmless.Begin(id, int64(at(0)))
			}
		}},
		{name: "too many dry runs", change: func(c *schema.Command, g *gate) {
			c.DryRun = true
			for _, id := range []string{"1", "2", "3", "4"} {
				g.harmless.Begin(id, int64(at(0)))
			}
		}, reason: safety.TooMany},
		{name: "too often", change: func(_ *schema.Command, g *gate) {
			for range cfg.Limits.PerHour {
				g.acting.Began(int64(at(-time.Minute)))
			}
		}, reason: safety.TooOften, detail: "retry in 59m0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			keys, err := NewKeyring(cfg.Principals)
			if err != nil {
				t.Fatal(err)
			}
			memory, _, err := openMemory(filepath.Join(t.TempDir(), "state"), time.Minute, at(-time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			g := &gate{agent: "gpu-7", fabric: "f", keys: keys, tolerance: cfg.ClockTolerance, maxValidity: cfg.MaxValidity, memory: memory,
				known:  func(kind string) bool { return kind != "test.none" },
				acting: safety.New(cfg.Config), harmless: safety.NewQuota(harmlessLimits)}
			order := schema.Command{ID: "x", Fabric: "f", Kind: "test.act", Targets: []string{"*"}, Issued: at(-time.Second), Expires: at(time.Minute)}
			if c.change != nil {
				c.change(&order, g)
			}
			if err := NewSigner("operator", key).Sign(&order); err != nil {
				t.Fatal(err)
			}
			if c.tamper != nil {
				c.tamper(&order)
			}
			v := g.check(&order, at(0))
			if c.reason == "" {
				if v.refusal != nil || !v.authentic {
					t.Errorf("refused: %+v", v.refusal)
				}
				limits, guard := cfg.Limits, g.acting
				if c.brief {
					limits, guard = harmlessLimits, g.harmless
				}
				if v.runTime != limits.RunTime || g.guardOf(&order) != guard {
					t.Errorf("may run for %v, want %v", v.runTime, limits.RunTime)
				}
				return
			}
			if v.refusal == nil || v.refusal.Reason != c.reason || v.silent != c.silent || !strings.Contains(v.refusal.Detail, c.detail) {
				t.Fatalf("verdict %+v, refusal %+v; want %s, silent %v, %q", v, v.refusal, c.reason, c.silent, c.detail)
			}
			if want := map[bool]schema.CommandStatus{false: schema.CommandRefused, true: schema.CommandExpired}[c.reason == Expired]; v.status != want {
				t.Errorf("status %s, want %s", v.status, want)
			}
		})
	}
}
