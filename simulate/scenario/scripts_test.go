package scenario_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/simulate/scenario"
	"github.com/giverny/giverny/topology/topologytest"
)

func read(t interface{ Fatal(...any) }, text string) *scenario.Script {
	s, err := scenario.Read(strings.NewReader(text), "test")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScriptErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", "nmae: x", "nmae"},
		{"two documents", "name: x\n---\nname: y", "more than one YAML document"},
		{"interval", "interval: 10ms", "interval 10ms"},
		{"step", "{interval: 10s, step: 3s}", "step 3s"},
		{"twice", `jobs: [{id: "1", nodes: 1}, {id: "1", nodes: 1}]`, `job "1" is duplicated`},
		{"nowhere", `jobs: [{id: a}]`, "give its place"},
		{"over before it starts", `jobs: [{id: a, nodes: 1, start: 5s, end: 5s}]`, "not after start"},
		{"pattern", `jobs: [{nodes: 1, traffic: [{pattern: gossip, gigabytes_per_second: 1}]}]`, `pattern "gossip"`},
		{"rate", `jobs: [{nodes: 1, traffic: [{pattern: halo}]}]`, "gigabytes_per_second 0"},
		{"period", `jobs: [{nodes: 1, traffic: [{pattern: halo, gigabytes_per_second: 1, period: 5s}]}]`, "period and active"},
		{"shift", `jobs: [{nodes: 1, traffic: [{pattern: shift, gigabytes_per_second: 1}]}]`, "distance"},
		{"target", `jobs: [{nodes: 1, traffic: [{pattern: many_to_one, gigabytes_per_second: 1, target: -1}]}]`, "target -1"},
		{"wave", `jobs: [{nodes: 1, traffic: [{pattern: halo, gigabytes_per_second: 1, wave_percent: .nan}]}]`, "wave_percent NaN"},
		{"storage", `fabric: {storage: {every: 2, first: -1}}`, "first -1"},
		{"action", `events: [{do: explode, object: x}]`, `"explode"`},
		{"object", `events: [{do: fail_link}]`, "fail_link with object"},
		{"flap", `events: [{do: flap_link, object: x, period: 1s}]`, "flap_link: want for"},
		{"percent", `events: [{do: slow_link, object: x, percent: 120}]`, "percent 120"},
		{"workload", `workload: {jobs: 0}`, "jobs 0"},
		{"protection", `protection: {high_percent: 5, low_percent: 10}`, "protection"},
	} {
		if _, err := scenario.Read(strings.NewReader(c.text), "test"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want an error with %q", c.name, err, c.want)
		}
	}
	for _, c := range []struct{ name, text, want string }{
		{"topology", "fabric: {topology: moebius:3}", "moebius"},
		{"routing", "fabric: {routing: scenic}", "scenic"},
		{"box", "jobs: [{at: [0,0,0], size: [9,1,1]}]", "does not fit"},
		{"box on a tree", "{fabric: {topology: 'fattree:k=4'}, jobs: [{at: [0,0,0], size: [1,1,1]}]}", "torus or mesh"},
		{"hosts", "jobs: [{hosts: '500-600'}]", "0-511"},
		{"hosts twice", "jobs: [{hosts: '0-3,2'}]", "is duplicated"},
		{"no room", "jobs: [{nodes: 1000}]", ""},
		{"link", "events: [{do: fail_link, object: '0,0,0 Q+'}]", "0,0,0 X+"},
		{"device", "events: [{do: slow_host, object: host1, percent: 5}]", "named like"},
		{"at the same time", `jobs: [{id: a, at: [0,0,0], size: [2,2,2]}, {id: b, at: [1,1,1], size: [1,1,1], start: 5s}]`, `"a" and "b" both use node "1,1,1"`},
		{"storage", "{fabric: {storage: {hosts: '0-511'}}, jobs: [{nodes: 1}]}", "no room"},
	} {
		s := read(t, c.text)
		if _, err := scenario.New(nil, s, 1, 0); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want an error with %q", c.name, err, c.want)
		}
	}
	if _, err := scenario.Builtin("macbeth"); err == nil || !strings.Contains(err.Error(), "demo") {
		t.Errorf("an unknown story must name those there are: %v", err)
	}
}

// Every accepted script can be played, with plausible numbers.
func TestScriptsPlay(t *testing.T) {
	topologies := []string{"torus:4x4x4", "mesh:4x4", "fattree:k=4", "fattree:leaves=3,hosts=3,spines=2", "dragonfly:groups=4,routers=2,hosts=2"}
	objects := map[string][2]string{"torus:4x4x4": {"1,1,1 X+", "1,1,1"}, "mesh:4x4": {"1,1 X+", "1,1"}, "fattree:k=4": {"leaf0-0 3", "leaf0-0"},
		"fattree:leaves=3,hosts=3,spines=2": {"leaf0 4", "leaf0"}, "dragonfly:groups=4,routers=2,hosts=2": {"router0-0 3", "router0-0"}}
	rapid.Check(t, func(t *rapid.T) {
		topo := rapid.SampledFrom(topologies).Draw(t, "topology")
		s := read(t, "{interval: 2s, step: 1s, duration: 20s, fabric: {topology: '"+topo+"', reroute_after: 1s, storage: {every: 5, first: 1}}}")
		s.Fabric.VictimRatio = rapid.Float64Range(1, 4).Draw(t, "ratio")
		for i := range rapid.IntRange(0, 3).Draw(t, "jobs") {
			j := scenario.Job{ID: fmt.Sprint(i), Nodes: rapid.IntRange(1, 6).Draw(t, "nodes"), Start: time.Duration(i) * time.Second, End: 15 * time.Second}
			for range rapid.IntRange(0, 2).Draw(t, "kinds") {
				p := rapid.SampledFrom([]scenario.Pattern{scenario.Halo, scenario.Ring, scenario.Shift, scenario.Opposite, scenario.Random,
					scenario.AllToAll, scenario.ManyToOne, scenario.ReadFS, scenario.WriteFS}).Draw(t, "pattern")
				j.Traffic = append(j.Traffic, scenario.Traffic{Pattern: p, GigabytesPerSecond: rapid.Float64Range(.01, 20).Draw(t, "rate"), Distance: 2, Target: 3})
			}
			s.Jobs = append(s.Jobs, j)
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "events") {
			do := rapid.SampledFrom([]scenario.Action{scenario.FailLink, scenario.SlowLink, scenario.FailSwitch, scenario.SlowHost}).Draw(t, "do")
			object := objects[topo][0]
			if do == scenario.FailSwitch || do == scenario.SlowHost {
				object = objects[topo][1]
			}
			percent := 0.
			if do == scenario.SlowLink || do == scenario.SlowHost {
				percent = 30
			}
			s.Events = append(s.Events, scenario.Event{After: time.Duration(2*i) * time.Second, Do: do, Object: object, Percent: percent,
				For: time.Duration(rapid.IntRange(0, 5).Draw(t, "for")) * time.Second})
		}
		r, err := scenario.New(nil, s, rapid.Uint64().Draw(t, "seed"), 0)
		if err != nil {
			t.Fatal(err)
		}
		for step, ok := r.Step(); ok; step, ok = r.Step() {
			for _, l := range step.Truth.Links {
				if !(l.CreditPercent >= 0 && l.CreditPercent <= 100 && l.InqPercent >= 0 && l.InqPercent <= 100) || l.Cause >= len(step.Truth.Causes) {
					t.Fatalf("%+v", l)
				}
				sum := 0.
				for _, share := range l.Jobs {
					sum += share.Share
				}
				if len(l.Jobs) > 0 && math.Abs(sum-1) > 1e-6 {
					t.Fatalf("shares of link %d sum to %v", l.Link, sum)
				}
			}
			for _, j := range step.Traffic {
				if j.AchievedBytesPerSecond > j.OfferedBytesPerSecond*(1+1e-9)+1 {
					t.Fatalf("%+v", j)
				}
			}
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, name := range scenario.BuiltinNames() {
		text, err := os.ReadFile("stories/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := scenario.Read(strings.NewReader(text), "fuzz")
		if err == nil && s.Validate() != nil {
			t.Fatal("Read accepts what Validate does not")
		}
	})
}

// A story moved to another fabric has counters that the fabric supports, and is refused
// if its jobs or events need another shape.
func TestPlayOnAnotherFabric(t *testing.T) {
	g := topologytest.Parse(t, "mine", "fattree:k=8")
	for name, fault := range map[string]string{"incast": "", "busy": "no device", "enzo": "torus or mesh", "calm": ""} {
		story, err := scenario.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := story.PlayOn(g, "fattree:k=8"); err != nil {
			t.Fatal(err)
		}
		r, err := scenario.New(g, story, 1, start)
		if fault != "" {
			if err == nil || !strings.Contains(err.Error(), fault) {
				t.Errorf("%s on a fat tree: %v, want %q", name, err, fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s on a fat tree: %v", name, err)
			continue
		}
		if step, ok := r.Step(); !ok || r.HasDayFiles() || step.Batches[0].Fabric != "mine" || !strings.HasPrefix(step.Batches[0].Columns[0].Name, "ib.") {
			t.Errorf("%s on a fat tree: %s", name, step.Batches[0].Columns[0].Name)
		}
	}
}

// A built-in story plays on a smaller fabric, with the hosts, links and switches at the same place; or the error says how many
// hosts it needs, and with so many it plays.
func TestPlayOnASmallerFabric(t *testing.T) {
	for _, c := range []struct{ story, fabric, fault, hosts, object string }{
		{"incast", "fattree:leaves=4,hosts=4,spines=2", "", "0,1,2,3,4,5,6,7", ""},
		{"incast", "fattree:leaves=3,hosts=2,spines=1", "", "0,1,2", ""},
		{"incast", "fattree:leaves=2,hosts=2,spines=1", `job "gather" would have 2 of the 3 hosts that its many_to_one needs: the story needs 6 hosts or more, the fabric has 4`, "", ""},
		{"victim", "fattree:k=4", "", "1,3,5,14", ""},
		{"victim", "fattree:leaves=4,hosts=2,spines=1", "", "1,3,6", ""},
		{"victim", "fattree:leaves=2,hosts=2,spines=1", `jobs "innocent" and "aggressor" would share a host: the story needs 16 hosts or more, the fabric has 4`, "", ""},
		{"victim", "dragonfly:groups=5,routers=4,hosts=4", "", "2,3,6,7,10,11,28", ""}, // by number no switch would have hosts of both jobs
		{"slowhost", "fattree:leaves=2,hosts=2,spines=1", "", "0,1,2,3", "host1"},
		{"flap", "fattree:leaves=4,hosts=4,spines=2", "", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15", "leaf1 5"},
		{"flap", "fattree:k=8", "", "0-63", "leaf1-2 5"}, // host24's leaf, as leaf3 at home
		{"flap", "dragonfly:groups=5,routers=4,hosts=4", "", "0-63", "router1-2 5"},
	} {
		g := topologytest.Parse(t, "small", c.fabric)
		story, err := scenario.Builtin(c.story)
		if err != nil {
			t.Fatal(err)
		}
		if err := story.PlayOn(g, c.fabric); err != nil || c.fault != "" {
			if err == nil || c.fault == "" || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s on %s: %v, want %q", c.story, c.fabric, err, c.fault)
			}
			continue
		}
		if last := story.Jobs[len(story.Jobs)-1].Hosts; last != c.hosts {
			t.Errorf("%s on %s: hosts %s, want %s", c.story, c.fabric, last, c.hosts)
		}
		if !slices.ContainsFunc(story.Events, func(e scenario.Event) bool { return e.Object == c.object }) {
			t.Errorf("%s on %s: %v, want an event on %q", c.story, c.fabric, story.Events, c.object)
		}
		if _, err := scenario.New(g, story, 1, start); err != nil {
			t.Errorf("%s on %s: %v", c.story, c.fabric, err)
		}
	}
}

// A story keeps its cause on links of any speed: the port to the receiver is full,
// rather than its NIC slower than its link, and by the same share.
func TestPlayOnLinksOfAnotherSpeed(t *testing.T) {
	var stalls []float64
	for _, gbps := range []string{"25", "50", "100", "200", "400"} {
		g := topologytest.Parse(t, "mine", "fattree:k=8,gbps="+gbps)
		story, err := scenario.Builtin("incast")
		if err != nil {
			t.Fatal(err)
		}
		if err := story.PlayOn(g, "fattree:k=8,gbps="+gbps); err != nil {
			t.Fatal(err)
		}
		r, err := scenario.New(g, story, 1, start)
		if err != nil {
			t.Fatal(err)
		}
		for {
			step, ok := r.Step()
			if !ok {
				t.Fatalf("%s Gb/s: nothing congested", gbps)
			}
			if len(step.Truth.Causes) == 0 || len(step.Truth.Causes[0].Links) < 100 {
				continue
			}
			c := step.Truth.Causes[0]
			if len(c.Roots) != 1 || c.Roots[0] != "leaf0-0 1" {
				t.Errorf("%s Gb/s: roots %q, want the port to host0", gbps, c.Roots)
			}
			stalls = append(stalls, step.Truth.Links[len(step.Truth.Links)/2].CreditPercent)
			break
		}
	}
	for _, s := range stalls {
		if math.Abs(s-stalls[0]) > 1 {
			t.Errorf("stall of the middle link by speed: %.1f%%, want the same", stalls)
			break
		}
	}
}
