package diagnose_test

import (
	"strings"
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestTrafficThatTheTableLacks: a host of a job takes in more than before. If the table says that the job moves as much
// more, it is the job's, also if it only sent before, and now reads. If the job moves less, as what is held up does, a
// job that no table lists is on the same hosts, unless the table has nothing to compare.
func TestTrafficThatTheTableLacks(t *testing.T) {
	for name, c := range map[string]struct {
		moves   float64 // since the onset, relative to before
		reads   float64 // from files, since the onset, relative to a port; before, its hosts take in nothing; 0: does not
		last    float64 // in the last interval; 0: the same
		noTable bool
		shared  bool // another listed job is on some of its hosts
		want    bool // the job is accused
	}{
		"the table has it":   {moves: 1.7, want: true},
		"the job moves less": {moves: .75},
		"in a new column":    {moves: .75, reads: 1.4, want: true},
		"an incomplete row":  {moves: 1.7, last: .1, want: true},
		"no table":           {moves: .75, noTable: true, want: true},
		"shared hosts":       {moves: .75, shared: true},
	} {
		p := newPlant(t, "fattree:leaves=4,hosts=4,spines=2")
		p.hasUse, p.traffic = true, !c.noTable
		link := func(name string) schema.LinkID { return roottest.Link(t, p.graph, name) }
		p.job("7", "host0", "host1", "host4", "host5")
		if c.shared {
			p.job("8", "host1", "host4")
		}
		set := func(percent float64, names ...string) {
			for _, name := range names {
				p.use[link(name)] = percent
			}
		}
		set(20, "host0>leaf0", "host1>leaf0", "host4>leaf1", "host5>leaf1", "leaf0>host0", "leaf0>host1", "leaf1>host4", "leaf1>host5")
		if c.reads > 0 {
			set(0, "leaf0>host0", "leaf0>host1", "leaf1>host4", "leaf1>host5")
		}
		p.moved["7"] = 4 * .2 * p.graph.Capacity(link("leaf0>host0")) * 60
		p.step(20)
		p.moved["7"] *= c.moves
		p.filed["7"] = c.reads * p.graph.Capacity(link("leaf0>host0")) * 60
		set(92, "leaf0>host0")
		set(15, "leaf0>host1", "leaf1>host4", "leaf1>host5")
		set(40, "host1>leaf0", "host4>leaf1", "host5>leaf1", "spine0>leaf0", "spine1>leaf0")
		p.congest(50, link("host1>leaf0"), link("spine0>leaf0"), link("spine1>leaf0"), link("host4>leaf1"), link("host5>leaf1"))
		p.step(3)
		if c.last > 0 {
			p.moved["7"] *= c.last / c.moves
		}
		d := p.step(1)
		if got := len(d[0].Jobs) == 1; got != c.want {
			t.Errorf("%s: accused %+v, %s", name, d[0].Jobs, d[0].Text)
		}
		if said := strings.Contains(d[0].Text, "take in more than the traffic table accounts for"); said == c.want {
			t.Errorf("%s: %s", name, d[0].Text)
		}
	}
}
