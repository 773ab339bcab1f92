package diagnose_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestAVerdictStaysOnSteadyReadings: under constant readings for many times the remembered intervals, the class, the
// accused job and the root stay those of the first minutes.
func TestAVerdictStaysOnSteadyReadings(t *testing.T) {
	for _, c := range []struct {
		name, fabric string
		play         func(p *plant)
		class        schema.CauseClass
	}{
		{"a job on a torus", "torus:8x8x8", func(p *plant) {
			one := neighbours(p)
			p.step(35)
			p.moved["1"] = 40 * usual
			p.congest(40, p.within(one)...)
		}, schema.CauseIntraApplication},
		{"a host of a torus that does not take", "torus:8x8x8", func(p *plant) { p.slowOnTorus(25, "3,3,3") }, schema.CauseSlowHost},
		{"a link of a torus that fails", "torus:8x8x8", func(p *plant) {
			one := neighbours(p)
			p.step(35)
			p.fails(schema.LinkFailed, "1,1,1", "X+")
			p.congest(40, p.within(one)...)
		}, schema.CauseFailure},
		{"a job on a tree", "fattree:leaves=4,hosts=4,spines=4", func(p *plant) {
			onTree(p)
			p.sendsToHost0()
			p.congest(50, p.link("spine0", "1"), p.link("spine1", "1"), p.link("spine2", "1"), p.link("spine3", "1"), p.link("leaf1", "5"), p.link("leaf2", "6"))
		}, schema.CauseIntraApplication},
		{"a host of a tree that does not take", "fattree:leaves=4,hosts=4,spines=4", func(p *plant) {
			onTree(p)
			p.use[p.link("leaf0", "1")] = 8
			p.congest(50, p.link("leaf0", "1"), p.link("spine0", "1"), p.link("spine1", "1"), p.link("spine2", "1"), p.link("leaf1", "5"))
		}, schema.CauseSlowHost},
		{"a link of a tree that lost rate", "fattree:leaves=4,hosts=4,spines=4", func(p *plant) {
			onTree(p)
			p.use[p.link("spine1", "1")] = 12
			p.congest(50, p.link("leaf1", "6"), p.link("leaf2", "6"), p.link("leaf3", "6"))
		}, schema.CauseFailure},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlant(t, c.fabric)
			c.play(p)
			said := func(d schema.Diagnosis) string {
				var text strings.Builder
				fmt.Fprint(&text, d.Cause.Class)
				for _, j := range d.Jobs {
					fmt.Fprint(&text, " job ", j.JobID)
				}
				if d.Root != nil {
					fmt.Fprint(&text, " root ", d.Root.Device, " ", d.Root.Port, " ", d.Root.Kind)
				}
				return text.String()
			}
			first := p.step(3)[0]
			if first.Cause.Class != c.class {
				t.Fatalf("at first: %s: %s", said(first), first.Text)
			}
			for n := range 300 {
				if now := p.step(1)[0]; said(now) != said(first) {
					t.Fatalf("after %d intervals: %s %.2f, at first %s %.2f: %s", n+4, said(now), now.Cause.Confidence, said(first), first.Cause.Confidence, now.Text)
				}
			}
		})
	}
}

// TestAVerdictOutlivesPhases: a job that sends too much to one of its nodes in phases, with pauses of some minutes, is
// to blame in each phase: what its tree carried in earlier phases is not what is usual.
func TestAVerdictOutlivesPhases(t *testing.T) {
	p := newPlant(t, "torus:8x8x8")
	nodes := box(2, 2, 2, 3, 3, 3)
	p.job("1", nodes...)
	p.job("2", box(5, 5, 5, 3, 3, 3)...)
	flows, region := p.treeOf(nodes, "3,3,3")
	p.hasUse = true
	calm := func() {
		p.moved["1"] = usual
		p.regions = nil
		for _, l := range region {
			p.use[l], p.stall[l] = 5, .5
		}
	}
	calm()
	p.step(35)
	for phase := range 8 {
		p.moved["1"] = 40 * usual
		p.congest(0, region...)
		for _, l := range region {
			p.use[l] = 2.5 * flows[l]
			p.stall[l] = 98 - p.use[l]
		}
		for n := range 9 {
			if d := p.step(1)[0]; d.Cause.Class != schema.CauseIntraApplication || len(d.Jobs) != 1 || d.Jobs[0].JobID != "1" {
				t.Fatalf("phase %d, interval %d: %s %.2f: %s", phase+1, n+1, d.Cause.Class, d.Cause.Confidence, d.Text)
			}
		}
		calm()
		p.step(3)
	}
}

// onTree runs three jobs on a tree, calmly.
func onTree(p *plant) {
	p.job("1", append(hosts(0, 1), hosts(4, 12)...)...)
	p.job("2", "host2", "host3")
	p.job("3", "host13", "host14")
	p.hasUse = true
	p.use[p.link("spine1", "1")] = 45
	p.step(35)
}

// sendsToHost0 has the nodes of job 1 of onTree send one of them more than its port carries.
func (p *plant) sendsToHost0() {
	p.moved["1"] = 600 * usual
	p.use[p.link("leaf0", "1")] = 99
	for _, h := range hosts(4, 12) {
		p.use[p.link(h, "1")] = 11
	}
}

// slowOnTorus has the switches of a block of a torus send to one of them over links at this load, until that does not
// take what arrives: what they send elsewhere falls as well, and all of it is constant.
func (p *plant) slowOnTorus(percent float64, to string) {
	nodes := box(2, 2, 2, 3, 3, 3)
	p.job("1", nodes...)
	p.job("2", box(5, 5, 5, 3, 3, 3)...)
	flows, region := p.treeOf(nodes, to)
	p.hasUse = true
	beside := p.within(nodes)
	for _, l := range beside {
		p.use[l] = percent
	}
	p.step(35)
	for _, l := range beside {
		p.use[l] = percent / 2
	}
	p.congest(0, region...)
	for _, l := range region {
		p.use[l] = flows[l]
		p.stall[l] = 98 - p.use[l]
	}
}

// treeOf is the load of the links of a torus, percent, if each of the nodes sends one percent of a Z link to one of
// them.
func (p *plant) treeOf(nodes []string, to string) (percent map[schema.LinkID]float64, links []schema.LinkID) {
	grid, end := routes.NewRouter(p.graph).Grid, p.device(to)
	percent = map[schema.LinkID]float64{}
	for _, n := range nodes {
		if d := p.device(n); d != end {
			grid.EachOnRoute(d, end, func(l schema.LinkID) {
				if percent[l] == 0 {
					links = append(links, l)
				}
				percent[l] += 100 * .15e9 / p.graph.Capacity(l)
			})
		}
	}
	return percent, links
}

func (p *plant) device(name string) topology.DeviceID {
	p.t.Helper()
	d, known := p.graph.FindDevice(name)
	if !known {
		p.t.Fatalf("no device %s", name)
	}
	return d
}
