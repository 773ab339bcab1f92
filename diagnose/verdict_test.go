package diagnose_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/diagnose"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// neighbours adds six jobs on a torus; the regions will be at number 1.
func neighbours(p *plant) (one []string) {
	one = box(0, 0, 0, 3, 3, 3)
	p.job("1", one...)
	p.job("2", box(3, 0, 0, 2, 3, 3)...)
	p.job("3", box(0, 3, 0, 3, 2, 3)...)
	p.job("4", box(0, 0, 3, 3, 3, 2)...)
	p.job("5", box(5, 5, 5, 3, 3, 3)...)
	p.job("6", box(4, 4, 0, 3, 3, 3)...)
	return one
}

// TestVerdicts has a case for each rule of the verdict.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name   string
		fabric string
		play   func(p *plant)
		class  schema.CauseClass
		job    string // accused first
		root   string // device port peer kind
		says   string // in text or action
	}{
		{"a job fills its own links", "torus:8x8x8", func(p *plant) {
			one := neighbours(p)
			p.step(25)
			p.moved["1"] = 40 * usual
			p.congest(40, p.within(one)...)
			p.step(4)
		}, schema.CauseIntraApplication, "1", "", "congests itself"},
		{"a job reads files", "torus:8x8x8", func(p *plant) {
			one := neighbours(p)
			p.step(25)
			p.moved["1"], p.filed["1"] = 40*usual, 39*usual
			p.congest(40, p.within(one)...)
			p.step(4)
		}, schema.CauseSystem, "1", "", "file traffic"},
		{"a job that fills its own links reads a few files", "torus:8x8x8", func(p *plant) {
			one := neighbours(p)
			for _, other := range []string{"2", "3", "4", "5", "6"} {
				p.moved[other] = 600 * usual
			}
			p.step(25)
			p.moved["1"], p.filed["1"] = 400*usual, usual/10
			p.congest(40, p.within(one)...)
			p.step(4)
		}, schema.CauseIntraApplication, "1", "", "congests itself"},
		{"a job reads from elsewhere, and the table has that not as files", "torus:8x8x8", func(p *plant) {
			p.job("1", box(2, 2, 0, 1, 1, 4)...)
			for id, nodes := range map[string][]string{"2": box(5, 0, 0, 3, 3, 3), "3": box(5, 4, 0, 3, 3, 3), "4": box(5, 0, 4, 3, 3, 3), "5": box(0, 5, 4, 2, 3, 3)} {
				p.job(id, nodes...)
			}
			p.hasUse = true
			p.step(25)
			p.moved["1"] = 600 * usual
			for z := range 3 {
				p.use[p.link(fmt.Sprintf("2,2,%d", z), "Z+")] = 60
			}
			var region []schema.LinkID
			for y := 2; y < 6; y++ {
				region = append(region, p.link(fmt.Sprintf("2,%d,0", y), "Y+"))
				p.use[region[y-2]] = 95
			}
			p.congest(40, region...)
			p.step(4)
		}, schema.CauseSystem, "1", "", "file traffic"},
		{"a link fails again and again", "fattree:leaves=4,hosts=4,spines=2", func(p *plant) {
			p.job("1", hosts(0, 16)...)
			p.step(20)
			for range 3 {
				p.fails(schema.LinkFailed, "leaf0", "5")
				p.congest(40, p.link("leaf1", "5"), p.link("leaf2", "5"), p.link("leaf3", "5"), p.link("spine1", "1"))
				p.step(2)
				p.fails(schema.LinkRestored, "leaf0", "5")
				p.regions = nil
				clear(p.stall)
				p.step(3)
			}
			p.fails(schema.LinkFailed, "leaf0", "5")
			p.congest(40, p.link("leaf1", "5"), p.link("leaf2", "5"), p.link("leaf3", "5"), p.link("spine1", "1"))
			p.step(1)
		}, schema.CauseFailure, "", "leaf0 5 spine0 link_down", "the link flaps: it went down 4 times in 15m0s"},
		{"one that begins elsewhere at the same moment", "torus:8x8x8", func(p *plant) {
			one := neighbours(p)
			p.step(25)
			p.job("7", box(6, 6, 0, 1, 1, 5)...)
			p.moved["1"], p.moved["7"] = 40*usual, 60*usual
			p.congest(40, p.within(one)...)
			p.step(4)
		}, schema.CauseIntraApplication, "1", "", ""},
		{"a culprit that no table has", "torus:8x8x8", func(p *plant) {
			one := neighbours(p)
			p.step(25)
			p.congest(40, p.within(one)...)
			p.step(4)
		}, schema.CauseUnknown, "", "", "None of the"},
		{"no job at all", "torus:8x8x8", func(p *plant) {
			p.step(25)
			p.congest(40, p.within(box(0, 0, 0, 3, 3, 3))...)
			p.step(4)
		}, schema.CauseUnknown, "", "", "No job and no failure"},
		{"a link fails", "torus:8x8x8", func(p *plant) {
			one := neighbours(p)
			p.step(25)
			p.fails(schema.LinkFailed, "1,1,1", "X+")
			p.congest(40, p.within(one)...)
			p.step(4)
		}, schema.CauseFailure, "", "1,1,1 X+ 2,1,1 link_down", "Replace or reseat the cable at 1,1,1 port X+ (to 2,1,1 port X-);"},
		{"a link that comes back is no cause", "torus:8x8x8", func(p *plant) {
			one := neighbours(p)
			p.step(25)
			p.fails(schema.LinkRestored, "1,1,1", "X+")
			p.congest(40, p.within(one)...)
			p.step(4)
		}, schema.CauseUnknown, "", "", ""},
		{"nor one that failed and came back, if the region stays", "torus:8x8x8", func(p *plant) {
			one := neighbours(p)
			p.step(25)
			p.fails(schema.LinkFailed, "1,1,1", "X+")
			p.fails(schema.LinkRestored, "2,1,1", "X-")
			p.congest(40, p.within(one)...)
			p.step(8)
		}, schema.CauseUnknown, "", "", ""},
		{"nor one that fails long after", "torus:8x8x8", func(p *plant) {
			one := neighbours(p)
			p.step(15)
			p.congest(40, p.within(one)...)
			p.step(8)
			p.fails(schema.LinkFailed, "1,1,1", "X+")
			p.step(4)
		}, schema.CauseUnknown, "", "", ""},
		{"nor one far away", "torus:8x8x8", func(p *plant) {
			one := neighbours(p)
			p.step(25)
			p.fails(schema.LinkFailed, "5,5,5", "X+")
			p.congest(40, p.within(one)...)
			p.step(4)
		}, schema.CauseUnknown, "", "", ""},
		{"nor one of a link that was idle", "torus:8x8x8", func(p *plant) {
			one := neighbours(p)
			p.hasUse, p.use[p.link("1,1,1", "X+")] = true, 0
			p.step(25)
			p.fails(schema.LinkFailed, "1,1,1", "X+")
			p.congest(40, p.within(one)...)
			p.step(4)
		}, schema.CauseUnknown, "", "", ""},
		{"as one of a link that carried something is", "torus:8x8x8", func(p *plant) {
			one := neighbours(p)
			p.hasUse, p.use[p.link("1,1,1", "X+")] = true, 30
			p.step(25)
			p.fails(schema.LinkFailed, "1,1,1", "X+")
			p.congest(40, p.within(one)...)
			p.step(4)
		}, schema.CauseFailure, "", "1,1,1 X+ 2,1,1 link_down", ""},
		{"incast to a host", "fattree:leaves=4,hosts=4,spines=4", func(p *plant) {
			p.job("1", append(hosts(0, 1), hosts(4, 12)...)...)
			p.job("2", "host2", "host3")
			p.job("3", "host13", "host14")
			p.hasUse = true
			p.step(25)
			p.sendsToHost0()
			p.congest(50, p.link("spine0", "1"), p.link("spine1", "1"), p.link("spine2", "1"), p.link("spine3", "1"), p.link("leaf1", "5"), p.link("leaf2", "6"))
			p.step(4)
		}, schema.CauseIntraApplication, "1", "leaf0 1 host0 incast", "incast"},
		{"a host that does not take", "fattree:leaves=4,hosts=4,spines=4", func(p *plant) {
			p.job("1", append(hosts(0, 1), hosts(4, 12)...)...)
			p.job("2", "host2", "host3")
			p.hasUse = true
			p.step(25)
			p.use[p.link("leaf0", "1")] = 8
			p.congest(50, p.link("leaf0", "1"), p.link("spine0", "1"), p.link("spine1", "1"), p.link("spine2", "1"), p.link("leaf1", "5"))
			p.step(4)
		}, schema.CauseSlowHost, "", "leaf0 1 host0 slow_receiver", "Probe host0"},
		{"a link that lost rate, and no log says so", "fattree:leaves=4,hosts=4,spines=4", func(p *plant) {
			p.job("1", hosts(0, 11)...)
			p.hasUse = true
			p.use[p.link("spine1", "1")] = 45
			p.step(25)
			p.use[p.link("spine1", "1")] = 12
			p.congest(50, p.link("leaf1", "6"), p.link("leaf2", "6"), p.link("leaf3", "6"))
			p.step(4)
		}, schema.CauseFailure, "", "spine1 1 leaf0 link_capacity", "Check the cable at spine1 port 1 (to leaf0 port "},
		{"a deadlock", "fattree:leaves=4,hosts=4,spines=4", func(p *plant) {
			p.hasUse = true
			p.step(25)
			ring := []schema.LinkID{p.link("leaf0", "5"), p.link("spine0", "2"), p.link("leaf1", "6"), p.link("spine1", "1")}
			for _, l := range ring {
				p.use[l] = 0
			}
			p.congest(99, ring...)
			p.step(4)
		}, schema.CauseUnknown, "", "leaf0 5 spine0 deadlock", "spine0 port 2, leaf1 port 6, spine1 port 1"},
		{"a deadlock that is entered from outside", "fattree:leaves=4,hosts=4,spines=4", func(p *plant) {
			p.hasUse = true
			p.step(25)
			ring := []schema.LinkID{p.link("leaf0", "5"), p.link("leaf1", "5"), p.link("spine0", "3"), p.link("leaf2", "6"), p.link("spine1", "2")}
			for _, l := range ring {
				p.use[l] = 0
			}
			p.congest(99, ring...)
			p.step(4)
		}, schema.CauseUnknown, "", "leaf1 5 spine0 deadlock", "leaf1 port 5, spine0 port 3, leaf2 port 6, spine1 port 2. Break"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlant(t, c.fabric)
			c.play(p)
			d := p.step(1)
			if len(d) != 1 {
				t.Fatalf("%d diagnoses of one region", len(d))
			}
			got, accused, root := d[0], "", ""
			if len(got.Jobs) > 0 {
				accused = got.Jobs[0].JobID
			}
			if r := got.Root; r != nil {
				root = strings.Join([]string{r.Device, r.Port, r.Peer, r.Kind}, " ")
				if port, _ := p.graph.FindPort(r.Device, r.Port); r.Link != port.Egress {
					t.Errorf("root %+v: its port's link is %d", r, port.Egress)
				}
			}
			var cycle []string
			for _, port := range got.Cycle {
				cycle = append(cycle, port.Device+" port "+port.Port)
			}
			if deadlock := strings.HasSuffix(root, schema.RootDeadlock); deadlock != (len(cycle) > 0) || deadlock && (!strings.Contains(got.Text, strings.Join(cycle, ", ")+".") || strings.Count(got.Text, "known") != 1) {
				t.Errorf("root %q, cycle %q", root, cycle)
			}
			if got.Cause.Class != c.class || accused != c.job || len(got.Jobs) > 1 || !strings.Contains(got.Text, c.says) {
				t.Errorf("got %s %.2f, jobs %+v", got.Cause.Class, got.Cause.Confidence, got.Jobs)
			}
			if (c.root != "" || p.graph.Duplex() == false) && root != c.root {
				t.Errorf("root %q, want %q", root, c.root)
			}
			least := .5
			if got.Cause.Class == schema.CauseUnknown { // of two causes that fit equally one is right
				least = .05
			}
			if got.Cause.Confidence < least || got.Cause.Confidence > 1 || got.Action == "" {
				t.Errorf("confidence %v, action %q", got.Cause.Confidence, got.Action)
			}
			if t.Failed() {
				t.Log(got.Text)
			}
		})
	}
}

// The very first interval has neither history nor onset: no job is accused.
func TestASingleInterval(t *testing.T) {
	p := newPlant(t, "torus:8x8x8")
	one := neighbours(p)
	p.congest(40, p.within(one)...)
	if d := p.step(1); len(d[0].Jobs) != 0 || d[0].Cause.Class != schema.CauseUnknown {
		t.Errorf("%+v", d[0])
	}
}

// Without a traffic table, a job that begins with the region, on its links, is accused; others are not, nor is it without
// load readings if the region reaches beyond its links: an unlisted job may have begun.
func TestWithoutTraffic(t *testing.T) {
	for _, c := range []struct {
		hasUse bool
		nodes  int // of the region's that are the job's
		want   bool
	}{{true, 27, true}, {false, 27, true}, {false, 9, false}} {
		p := newPlant(t, "torus:8x8x8")
		p.traffic, p.hasUse = false, c.hasUse
		one := neighbours(p)
		p.step(25)
		p.job("9", one[:c.nodes]...)
		p.congest(40, p.within(one)...)
		for _, l := range p.within(one) {
			p.use[l] = 70
		}
		d := p.step(3)
		if isAccused := len(d[0].Jobs) == 1 && d[0].Jobs[0].JobID == "9" && d[0].Jobs[0].Feature == ""; isAccused != c.want || len(d[0].Jobs) > 1 {
			t.Errorf("%+v: %s: %+v", c, d[0].Text, d[0].Jobs)
		}
	}
}

// A job whose traffic crosses the region and that is not accused is a victim. Its own traffic shows by how much it is
// slower; if that is unknown, the stall on its way does.
func TestVictims(t *testing.T) {
	for _, c := range []struct {
		name        string
		absent      string
		moves       float64
		least, most float64
	}{
		{"half of the time stalled, traffic unknown", "8", usual, 1, 2},
		{"half of the time stalled, but it moves as much as before", "", usual, 1, 1.25},
		{"it moves a third", "", usual / 3, 3, 3},
	} {
		p := newPlant(t, "torus:8x8x8")
		one := neighbours(p)
		p.job("8", "0,0,1", "2,0,1") // within the first
		p.absent, p.moved["8"] = c.absent, 3*usual
		p.step(25)
		p.moved["1"], p.moved["8"] = 40*usual, 3*c.moves
		p.congest(50, p.within(one)...)
		d := p.step(4)[0]
		var got *schema.VictimJob
		for i := range d.Victims {
			if d.Victims[i].JobID == "8" {
				got = &d.Victims[i]
			}
		}
		switch {
		case len(d.Jobs) != 1 || d.Jobs[0].JobID != "1" || got == nil:
			t.Errorf("%s: %+v, want job 1 to blame, and job 8 a victim", c.name, d)
		case math.Abs(got.Slowdown[1]-c.most) > .1*c.most || got.Slowdown[0] < .9*c.least || got.Slowdown[0] > got.Slowdown[1]:
			t.Errorf("%s: slower by %v, want %v to %v", c.name, got.Slowdown, c.least, c.most)
		case got.LostPercent > 0 && math.Abs(got.Slowdown[1]-1/(1-got.LostPercent/100)) > .01:
			t.Errorf("%s: %+v contradicts itself", c.name, got)
		}
	}
}

// Link and device numbers do not change the verdicts.
func TestNumbersDoNotMatter(t *testing.T) {
	play := func(g *topology.Graph) schema.Diagnosis {
		p := plantOn(t, g)
		p.job("1", append(hosts(0, 1), hosts(4, 12)...)...)
		p.job("2", "host2", "host3")
		p.step(25)
		p.moved["1"] = 400 * usual // no load is measured, so it is compared with the capacity
		p.congest(50, p.link("spine0", "1"), p.link("spine1", "1"), p.link("spine2", "1"), p.link("spine3", "1"), p.link("leaf1", "5"), p.link("leaf2", "6"))
		return p.step(3)[0]
	}
	g, err := topology.Parse("test", "fattree:leaves=4,hosts=4,spines=4")
	if err != nil {
		t.Fatal(err)
	}
	b := topology.NewBuilder("test")
	for d := g.NumDevices() - 1; d >= 0; d-- {
		b.Device(*g.Device(topology.DeviceID(d)))
	}
	for l := g.NumLinks() - 1; l >= 0; l-- {
		link := g.Link(schema.LinkID(l))
		link.From, link.To = topology.DeviceID(g.NumDevices()-1)-link.From, topology.DeviceID(g.NumDevices()-1)-link.To
		b.Link(link)
	}
	h, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	a, z := play(g), play(h)
	if a.Cause.Class != z.Cause.Class || math.Abs(a.Cause.Confidence-z.Cause.Confidence) > 1e-3 || len(a.Jobs) != 1 || len(z.Jobs) != 1 ||
		a.Jobs[0].JobID != z.Jobs[0].JobID || a.Jobs[0].Value != z.Jobs[0].Value || a.Jobs[0].LagSeconds != z.Jobs[0].LagSeconds {
		t.Errorf("%+v\n%+v", a, z)
	}
}

// Invalid input, as from a broken scheduler, neither stops the stage nor makes it accuse.
func TestHostileInput(t *testing.T) {
	p := newPlant(t, "torus:8x8x8")
	var everywhere []string
	for d := range p.graph.NumDevices() {
		everywhere = append(everywhere, p.graph.Device(topology.DeviceID(d)).Name)
	}
	p.job("all", everywhere...)
	p.job("nowhere", "nid00012", "")
	p.job("none")
	nan, inf, less := math.NaN(), math.Inf(1), -1.
	p.pending.Traffic = []schema.JobTraffic{{JobID: "all", Time: p.now(), Read: &nan, Write: &inf, RDMARead: &less}, {JobID: "who", Time: p.now(), Read: &inf},
		{JobID: "all", Time: math.MaxInt64, Read: &less}, {JobID: "all", Time: math.MinInt64 + 1, Read: &less}}
	p.pending.Failures = []schema.Failure{{}, {Kind: schema.LinkFailed, Device: "9,9,9", Port: "Q"}, {Kind: schema.SwitchFailed, Time: math.MaxInt64}}
	p.step(20)
	p.congest(40, p.within(box(0, 0, 0, 3, 3, 3))...)
	p.regions = append(p.regions, []schema.LinkID{1 << 30}, nil)
	for i := range 10000 {
		job := schema.Job{ID: "flood", Nodes: []string{everywhere[i%len(everywhere)]}, Start: p.now() - schema.Instant(i)}
		p.pending.Jobs = append(p.pending.Jobs, job)
	}
	d := p.step(2)
	if len(d) != 1 || d[0].Cause.Class != schema.CauseUnknown || math.IsNaN(d[0].Cause.Confidence) {
		t.Errorf("%d diagnoses: %+v", len(d), d)
	}
	p.stage.Step(&schema.IntervalResult{})
	var empty diagnose.Config
	if err := empty.Validate(); err == nil || !strings.Contains(err.Error(), "window") || !strings.Contains(err.Error(), "max_jobs") {
		t.Errorf("an empty configuration: %v", err)
	}
}

// TestAJobThatIsNamedForTheFirstTime: sources write no row for a job that moves nothing, so its first row is a rise.
func TestAJobThatIsNamedForTheFirstTime(t *testing.T) {
	p := newPlant(t, "torus:8x8x8")
	one := neighbours(p)
	all := p.jobs
	p.jobs = slices.DeleteFunc(slices.Clone(all), func(id string) bool { return id == "1" })
	for _, id := range p.jobs {
		p.moved[id] = 200 * usual
	}
	p.step(25)
	p.jobs = all
	p.moved["1"] = 400 * usual // no outlier, and enough to fill a link
	p.congest(40, p.within(one)...)
	d := p.step(4)[0]
	if len(d.Jobs) != 1 || d.Jobs[0].JobID != "1" || d.Jobs[0].Correlation < .9 {
		t.Errorf("%s, accused %+v: %s", d.Cause.Class, d.Jobs, d.Text)
	}
}
