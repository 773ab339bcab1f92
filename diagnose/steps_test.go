package diagnose_test

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/schema"
)

// A region that always stalled is its job's. That it stalls clearly more since a switch beside it failed is the
// failure's, whose traffic goes over the region's links; what failed elsewhere, or made no difference, changes nothing.
func TestAStandingRegionStepsUpWithAFailure(t *testing.T) {
	for name, c := range map[string]struct {
		device, port string // that fails; empty: none
		more         float64
		want         bool // that the failure is the cause
	}{
		"a switch beside it":            {"spine2", "", 15, true},
		"a cable beside it":             {"leaf0", "7", 15, true},
		"nothing failed":                {"", "", 15, false},
		"a cable elsewhere":             {"leaf3", "7", 15, false},
		"a host beside it":              {"host12", "", 15, false},
		"it stalls little more":         {"spine2", "", 3, false},
		"it stalls as it does, or less": {"spine2", "", -5, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlant(t, "fattree:leaves=4,hosts=4,spines=3")
			p.hasUse = true
			p.job("1", hosts(0, 7)...)
			var region []schema.LinkID
			for leaf := range 2 {
				for port := 5; port <= 6; port++ {
					region = append(region, p.link(fmt.Sprintf("leaf%d", leaf), fmt.Sprint(port)))
				}
			}
			for l := range schema.LinkID(p.graph.NumLinks()) {
				p.use[l] = 5
			}
			over := []schema.LinkID{p.link("leaf0", "7"), p.link("leaf1", "7"), p.link("spine2", "1"), p.link("spine2", "2")}
			for _, l := range append(over, region...) {
				p.use[l] = 60
			}
			p.moved["1"] = 6 * 60 * .6 * p.graph.Capacity(region[0]) // over all links to spines, in a minute
			p.congest(30, region...)
			before := p.step(14)
			if got := before[0].Cause.Class; got != schema.CauseIntraApplication {
				t.Fatalf("before: %s, want intra_application: %s", got, before[0].Text)
			}
			switch {
			case c.port != "":
				p.fails(schema.LinkFailed, c.device, c.port)
			case c.device != "" && c.device[0] == 's':
				p.fails(schema.SwitchFailed, c.device, "")
			case c.device != "":
				p.fails(schema.NodeFailed, c.device, "")
			}
			for _, l := range region {
				p.stall[l] += c.more
				p.use[l] = 90
			}
			for _, l := range over {
				p.use[l] = 0
			}
			after := p.step(4)
			if got := after[0]; (got.Cause.Class == schema.CauseFailure) != c.want || c.want && got.Failures[0].Device != c.device {
				t.Errorf("after: %s, want a failure %v: %s", got.Cause.Class, c.want, got.Text)
			}
		})
	}
}

// TestTheSecondStepOfAStallIsNotItsOnset: a region that is first found when its stall rises again, while its links
// carry what they did, is that of the job that began to move more when the stall first rose, unless something broke at
// the second rise.
func TestTheSecondStepOfAStallIsNotItsOnset(t *testing.T) {
	for name, c := range map[string]struct {
		fails bool
		class schema.CauseClass
	}{
		"nothing happens": {false, schema.CauseIntraApplication},
		"a cable fails":   {true, schema.CauseFailure},
	} {
		p := newPlant(t, "torus:8x8x8")
		region := p.within(neighbours(p))
		p.hasUse = true
		p.step(12)
		p.moved["1"] = 6000 * usual
		for _, l := range region {
			p.use[l], p.stall[l] = 40, 15
		}
		p.step(14)
		if c.fails {
			p.fails(schema.LinkFailed, "1,1,1", "X+")
			p.use[p.link("1,1,1", "X+")] = 0
		}
		p.congest(50, region...)
		for after := range 20 {
			if d := p.step(1)[0]; d.Cause.Class != c.class {
				t.Fatalf("%s, %d intervals after the second step: %s: %s", name, after, d.Cause.Class, d.Text)
			}
		}
	}
}
