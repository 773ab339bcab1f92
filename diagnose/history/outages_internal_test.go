package history

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestOutages: repeated failures of a cable are counted, whichever end reports them, for longer than failures are kept;
// a repeated line, or another cable, is not.
func TestOutages(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	h := remembers(g)
	spine, _ := g.FindPort("leaf0", "5")
	at := g.PortKey(spine.Ingress)
	const second = 1_000_000_000
	h.Clock.Duration = second
	report := func(second64 int64, kind schema.EventKind, device, port string) {
		h.Clock.Now = second64
		h.AddFailures([]schema.Failure{{Time: schema.Instant(second64 * second), Kind: kind, Device: device, Port: port}})
	}
	for i := range int64(5) {
		report(100+20*i, schema.LinkFailed, "leaf0", "5")
		report(101+20*i, schema.LinkFailed, at.Device, at.Port)
		report(102+20*i, schema.LinkFailed, "leaf1", "5")
		report(110+20*i, schema.LinkRestored, "leaf0", "5")
	}
	last := map[string]PlacedFailure{}
	for _, f := range h.Failures {
		last[f.Device] = f
	}
	if f := last["leaf0"]; f.Times != 5 || f.since != 100*second {
		t.Errorf("leaf0 port 5 went down %d times since %d s, want 5 since 100 s", f.Times, f.since/second)
	}
	if f := last["leaf1"]; f.Times != 1 || f.Flaps() != "" {
		t.Errorf("leaf1 port 5 went down %d times, want once: %q", f.Times, f.Flaps())
	}
	if f := last[at.Device]; f.Flaps() != "; the link flaps: it went down 5 times in 1m21s" {
		t.Errorf("the other end of leaf0 port 5: %q", f.Flaps())
	}
	loaded := remembers(g)
	if err := reload(h, loaded); err != nil || len(loaded.Failures) == 0 || loaded.Failures[len(loaded.Failures)-1].outages != h.Failures[len(h.Failures)-1].outages {
		t.Errorf("outages are not saved: %v", err)
	}
}
