package diagnose_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/giverny/giverny/schema"
)

// incastPlant is a tree on which job 1 starts to send to host7, at leaf1, after 20 intervals. One link of its region
// carried other traffic before, percent of its capacity.
func incastPlant(t *testing.T, before float64) *plant {
	t.Helper()
	p := newPlant(t, "fattree:leaves=4,hosts=4,spines=2")
	p.hasUse = true
	for l := range schema.LinkID(p.graph.NumLinks()) {
		p.use[l] = 0
	}
	p.job("2", hosts(8, 15)...)
	shared := p.link("leaf0", "5")
	p.use[shared] = before
	p.step(20)
	p.job("1", hosts(0, 7)...)
	var region []schema.LinkID
	for h := range 4 { // half of its hosts: the others send too little to wait
		region = append(region, p.link(fmt.Sprintf("host%d", h), "1"))
	}
	region = append(region, shared, p.link("leaf0", "6"), p.link("spine0", "2"), p.link("spine1", "2"))
	for _, l := range region {
		p.use[l] = 25
	}
	p.use[shared] = 25 + before
	p.use[p.link("leaf1", "4")] = 100
	p.moved["1"] = 60 * p.graph.Capacity(p.link("leaf1", "4")) // in a minute
	p.congest(60, region...)
	return p
}

// A job whose rate rises many times has the links to itself whose load rises as many times, though nodes of others are
// at their switches.
func TestWhoElseUsesTheLinksOfARaisedRate(t *testing.T) {
	for _, c := range []struct {
		name   string
		others float64 // their load on each link, percent of capacity
		want   schema.CauseClass
	}{{"no others", 0, schema.CauseIntraApplication}, {"others", 20, schema.CauseSystem}} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlant(t, "fattree:leaves=4,hosts=4,spines=2")
			p.hasUse = true
			p.job("2", hosts(6, 15)...)
			p.job("1", hosts(0, 5)...)
			receiver := p.link("leaf1", "2") // host5
			region := []schema.LinkID{p.link("leaf0", "5"), p.link("leaf0", "6"), p.link("spine0", "2"), p.link("spine1", "2")}
			for h := range 5 {
				region = append(region, p.link(fmt.Sprintf("host%d", h), "1"))
			}
			for h := 8; h < 12 && c.others > 0; h++ { // others' traffic on the links waits at their hosts, too
				region = append(region, p.link(fmt.Sprintf("host%d", h), "1"))
			}
			carry := func(each, all float64) {
				for l := range schema.LinkID(p.graph.NumLinks()) {
					p.use[l] = 0
				}
				for _, l := range region {
					p.use[l] = each + c.others
				}
				p.use[receiver] = all
				p.moved["1"] = .6 * all * p.graph.Capacity(receiver) // in a minute
			}
			carry(5, 20)
			p.step(20)
			carry(25, 100)
			p.congest(60, region...)
			d := p.step(3)[0]
			if d.Cause.Class != c.want || len(d.Jobs) != 1 || d.Jobs[0].JobID != "1" {
				t.Errorf("%s %v, want %s of job 1", d.Cause.Class, d.Jobs, c.want)
			}
		})
	}
}

// A job is in others' way if another job, with some part in what waits, loses much of its traffic at the onset, and stays
// down; that job is the first victim.
func TestAnotherJobThatLosesItsTraffic(t *testing.T) {
	for _, c := range []struct {
		name   string
		others int       // hosts of job 2 that wait, too
		moves  []float64 // by job 2, per interval since the onset, relative to before
		want   schema.CauseClass
		lost   float64 // percent
	}{
		{"as before", 2, []float64{1, 1, 1, 1, 1}, schema.CauseIntraApplication, 0},
		{"held up", 2, []float64{.4, .4, .4, .4, .4}, schema.CauseSystem, 60},
		{"a quarter, of which its variation is a part", 2, []float64{.75, .75, .75, .75, .75}, schema.CauseSystem, 25},
		{"a little", 2, []float64{.93, .93, .93, .93, .93}, schema.CauseIntraApplication, 0},
		{"for an interval", 2, []float64{.4, 1, 1, 1, 1}, schema.CauseIntraApplication, 0},
		{"held up, with no part in what waits", 0, []float64{.4, .4, .4, .4, .4}, schema.CauseIntraApplication, 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlant(t, "fattree:leaves=4,hosts=4,spines=2")
			p.hasUse = true
			p.job("2", hosts(6, 15)...)
			p.job("1", hosts(0, 5)...)
			region := []schema.LinkID{p.link("leaf0", "5"), p.link("leaf0", "6"), p.link("spine0", "2"), p.link("spine1", "2")}
			for h := range 5 {
				region = append(region, p.link(fmt.Sprintf("host%d", h), "1"))
			}
			receiver := p.link("leaf1", "2") // host5
			carry := func(each, all float64) {
				for l := range schema.LinkID(p.graph.NumLinks()) {
					p.use[l] = 0
				}
				for _, l := range region {
					p.use[l] = each
				}
				p.use[receiver] = all
				p.moved["1"] = .6 * all * p.graph.Capacity(receiver) // in a minute
			}
			const bytes = 50e9
			p.moved["2"] = bytes
			carry(5, 20)
			p.step(20)
			carry(25, 100)
			for h := range c.others {
				region = append(region, p.link(fmt.Sprintf("host%d", 8+h), "1"))
			}
			p.congest(60, region...)
			var d schema.Diagnosis
			for _, m := range c.moves {
				p.moved["2"] = m * bytes
				d = p.step(1)[0]
			}
			lost := 0.
			if len(d.Victims) > 0 && d.Victims[0].JobID == "2" {
				lost = d.Victims[0].LostPercent
			}
			if d.Cause.Class != c.want || len(d.Jobs) != 1 || d.Jobs[0].JobID != "1" || math.Abs(lost-c.lost) > 5 {
				t.Errorf("%s %v, job 2 lost %.0f%%; want %s of job 1, and %.0f%% (%v)", d.Cause.Class, d.Jobs, lost, c.want, c.lost, d.Victims)
			}
		})
	}
}

// What fills the port to a host of the accused is its files only if it reads at least half of that: what it reads beside
// is no reason to call the congestion that of a file system, and what it writes does not arrive there.
func TestFilesBesideAnIncastWithinAJob(t *testing.T) {
	for _, c := range []struct {
		read float64 // of the full port
		want schema.CauseClass
	}{{.4, schema.CauseIntraApplication}, {.8, schema.CauseSystem}} {
		p := incastPlant(t, 0)
		p.filed["1"] = c.read * p.moved["1"]
		if d := p.step(3)[0]; d.Cause.Class != c.want || len(d.Jobs) != 1 || d.Jobs[0].JobID != "1" {
			t.Errorf("%.0f%% read from files: %s %v, want %s of job 1", 100*c.read, d.Cause.Class, d.Jobs, c.want)
		}
	}
}
