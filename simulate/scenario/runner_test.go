package scenario_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
	"github.com/giverny/giverny/topology"
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
		{"interval", "interval: 10ms", "interval 10ms"},
		{"step", "{interval: 10s, step: 3s}", "step 3s"},
		{"twice", `jobs: [{id: "1", nodes: 1}, {id: "1", nodes: 1}]`, `job "1" is duplicated`},
		{"nowhere", `jobs: [{id: a}]`, "say where"},
		{"over before it starts", `jobs: [{id: a, nodes: 1, start: 5s, end: 5s}]`, "not after start"},
		{"pattern", `jobs: [{nodes: 1, traffic: [{pattern: gossip, gigabytes_per_second: 1}]}]`, `pattern "gossip"`},
		{"rate", `jobs: [{nodes: 1, traffic: [{pattern: halo}]}]`, "gigabytes_per_second 0"},
		{"period", `jobs: [{nodes: 1, traffic: [{pattern: halo, gigabytes_per_second: 1, period: 5s}]}]`, "period and active"},
		{"shift", `jobs: [{nodes: 1, traffic: [{pattern: shift, gigabytes_per_second: 1}]}]`, "distance"},
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
		{"no room", "jobs: [{nodes: 1000}]", ""},
		{"link", "events: [{do: fail_link, object: '0,0,0 Q+'}]", "0,0,0 X+"},
		{"device", "events: [{do: slow_host, object: host1, percent: 5}]", "named like"},
		{"at the same time", `jobs: [{id: a, at: [0,0,0], size: [2,2,2]}, {id: b, at: [1,1,1], size: [1,1,1], start: 5s}]`, `"a" and "b" both want node "1,1,1"`},
		{"storage", "{fabric: {storage: {hosts: '0-511'}}, jobs: [{nodes: 1}]}", "no room"},
	} {
		s := read(t, c.text)
		if _, err := scenario.New(nil, s, 1, 0); c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v; want an error with %q", c.name, err, c.want)
		}
	}
	if _, err := scenario.Builtin("macbeth"); err == nil || !strings.Contains(err.Error(), "demo") {
		t.Errorf("an unknown story must name those there are: %v", err)
	}
}

// What the devices report, turned back into percent, is the truth within noise.
func TestReadingsTellTheTruth(t *testing.T) {
	r := newRunner(t, "demo", 1)
	last := map[string]uint64{}
	for n := 0; ; n++ {
		step, ok := r.Step()
		if !ok {
			break
		}
		truth := map[schema.LinkID]float64{}
		for _, l := range step.Truth.Links {
			truth[l.Link] = l.CreditPercent
		}
		measured := map[schema.LinkID]float64{}
		for _, b := range step.Batches {
			for row, port := range b.PortIndex {
				name := b.Ports[port]
				links, _ := r.Graph().FindPort(name.Device, name.Port)
				value := b.Columns[0].Values[row]
				key := name.Device + name.Port
				if from, seen := last[key]; seen {
					percent := float64((value-from)&(1<<48-1)) / 1e7 // of a second, in ns
					measured[links.Egress] = math.Max(measured[links.Egress], percent)
				}
				last[key] = value
			}
		}
		if len(measured) != r.Graph().NumLinks() {
			t.Fatalf("interval %d: %d links measured of %d", n, len(measured), r.Graph().NumLinks())
		}
		for l, got := range measured {
			want := truth[l] // 0 under 5%
			if math.Abs(got-want) > 8+.25*want {
				t.Errorf("interval %d: link %d reads %.1f%%, the truth is %.1f%%", n, l, got, want)
			}
		}
	}
}

// However readings are lost or late, each port's are in the order of time and
// never rise faster than its link can carry.
func TestFlawedReadingsAreConsistent(t *testing.T) {
	s, err := scenario.Builtin("demo")
	if err != nil {
		t.Fatal(err)
	}
	s.Telemetry = scenario.Telemetry{LossPercent: 5, LatePercent: 5, SkewMillis: 1}
	r, err := scenario.New(nil, s, 1, start)
	if err != nil {
		t.Fatal(err)
	}
	last := map[schema.PortName]reading{}
	for step, ok := r.Step(); ok; step, ok = r.Step() {
		for _, b := range step.Batches {
			for row, port := range b.PortIndex {
				name := b.Ports[port]
				now := reading{b.TimeNanos[row], b.Columns[2].Values[row]}
				if from, seen := last[name]; seen {
					if rate := float64((now.value-from.value)&(1<<48-1)) / (float64(now.nanos-from.nanos) / 1e9); now.nanos <= from.nanos || rate > 15.1e9 {
						t.Fatalf("%s: %v from %+v to %+v", step.Interval, name, from, now)
					}
				}
				last[name] = now
			}
		}
	}
}

// The same script and seed: the same batches, events and truth. Another seed:
// other readings, the same story.
func TestDeterminism(t *testing.T) {
	play := func(seed uint64) (readings [][]uint64, reported []string) {
		s, err := scenario.Builtin("demo")
		if err != nil {
			t.Fatal(err)
		}
		r, err := scenario.New(nil, s, seed, start)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			step, _ := r.Step()
			for _, b := range step.Batches {
				for _, c := range b.Columns {
					readings = append(readings, append([]uint64(nil), c.Values...))
				}
			}
			truth, err := json.Marshal(step.Truth)
			if err != nil {
				t.Fatal(err)
			}
			reported = append(reported, fmt.Sprint(step.Events), string(truth))
		}
		return readings, reported
	}
	r1, t1 := play(1)
	r2, t2 := play(1)
	r3, _ := play(2)
	if !reflect.DeepEqual(r1, r2) || !reflect.DeepEqual(t1, t2) {
		t.Error("two runs of one seed differ")
	}
	if reflect.DeepEqual(r1, r3) {
		t.Error("runs of two seeds do not differ")
	}
}

// A step shorter than the interval averages: a link that is down for 5 s of a
// 10 s interval stalls half as much as one that is down throughout.
func TestStepsAverage(t *testing.T) {
	const text = `
fabric: {topology: "fattree:leaves=2,hosts=1,spines=1", kind: infiniband, victim_ratio: 1}
interval: 10s
step: %s
duration: 20s
jobs: [{hosts: "0-1", traffic: [{pattern: ring, gigabytes_per_second: 4}]}]
events: [{after: 5s, do: slow_host, object: host1, percent: 10, for: 5s}]`
	stall := func(step string) float64 {
		r, err := scenario.New(nil, read(t, fmt.Sprintf(text, step)), 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := r.Step()
		most := 0.
		for _, l := range s.Truth.Links {
			most = math.Max(most, l.CreditPercent)
		}
		return most
	}
	whole := 75. // 4 GB/s offered, 1 GB/s taken
	if got := stall("5s"); math.Abs(got-whole/2) > .1 {
		t.Errorf("in steps of 5s the stall is %.1f%%, want %.1f%%", got, whole/2)
	}
	if got := stall("1s"); math.Abs(got-whole/2) > .1 {
		t.Errorf("in steps of 1s the stall is %.1f%%, want %.1f%%", got, whole/2)
	}
}

func TestProtection(t *testing.T) {
	r, err := scenario.New(nil, read(t, `
fabric: {topology: "torus:4x4x4", receive_gigabytes_per_second: 1}
interval: 1s
duration: 40s
protection: {high_percent: 30, low_percent: 10, links: 20, hold: 5s}
jobs: [{at: [0,0,0], size: [4,4,4], traffic: [{pattern: all_to_all, gigabytes_per_second: 2, from: 10s, to: 12s}]}]`), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	throttled := 0
	for step, ok := r.Step(); ok; step, ok = r.Step() {
		for _, e := range step.Events {
			if e.Kind == schema.Throttled {
				throttled++
			}
		}
		if at := step.Interval.StartNanos / 1e9; at > 11 && len(step.Truth.Links) > 0 {
			t.Errorf("second %d: %d links stall while all NICs are throttled", at, len(step.Truth.Links))
		}
	}
	if throttled != 1 {
		t.Errorf("throttled %d times, want once", throttled)
	}
}

// Jobs of a workload have the shape of Blue Waters': most have one node, the
// few large ones use the node-hours; and none shares a node with another.
func TestWorkload(t *testing.T) {
	r, err := scenario.New(nil, read(t, `
fabric: {topology: "torus:12x12x12", storage: {every: 47}}
interval: 10m
duration: 48h
workload: {jobs: 60, fill_percent: 70, gigabytes_per_second: 0.01}`), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	owner := map[string]string{}
	var jobs, single, seconds, singleSeconds, running float64
	steps := 0
	for step, ok := r.Step(); ok; step, ok = r.Step() {
		steps++
		running += float64(len(step.Traffic))
		for _, rec := range step.Jobs {
			for _, node := range rec.Nodes {
				if other := owner[node]; rec.State == "running" && other != "" {
					t.Fatalf("jobs %s and %s share node %s", rec.ID, other, node)
				}
				owner[node] = map[bool]string{true: rec.ID}[rec.State == "running"]
			}
			if rec.State == "running" {
				continue
			}
			used := float64(len(rec.Nodes)) * float64(rec.End-rec.Start) / 1e9
			jobs++
			seconds += used
			if len(rec.Nodes) == 1 {
				single++
				singleSeconds += used
			}
		}
	}
	if share := single / jobs; share < .65 || share > .85 {
		t.Errorf("%.0f%% of %v jobs have one node, want about 74%%", 100*share, jobs)
	}
	if share := singleSeconds / seconds; share > .1 {
		t.Errorf("jobs of one node use %.0f%% of the node-seconds, want about 5%%", 100*share)
	}
	if mean := running / float64(steps); mean < 59 {
		t.Errorf("%.1f jobs run in the mean, want 60", mean)
	}
}

// A workload that wants more jobs than there are nodes fills the fabric.
func TestWorkloadOfAFullFabric(t *testing.T) {
	for _, topo := range []string{"torus:3x3x3", "fattree:k=4"} {
		r, err := scenario.New(nil, read(t, "{fabric: {topology: '"+topo+"'}, duration: 3m, workload: {jobs: 500}}"), 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		step, _ := r.Step()
		if hosts := len(r.Graph().Hosts()); len(step.Traffic) < hosts/2 || len(step.Traffic) > hosts {
			t.Errorf("%s: %d jobs on %d hosts", topo, len(step.Traffic), hosts)
		}
	}
}

func TestRecorder(t *testing.T) {
	r := newRunner(t, "demo", 1)
	days := map[string]*bytes.Buffer{}
	var jobs, failures, truth bytes.Buffer
	rec := scenario.Recorder{Jobs: &jobs, Failures: &failures, Truth: &truth, Day: func(date string) (io.Writer, error) {
		if days[date] == nil {
			days[date] = &bytes.Buffer{}
		}
		return days[date], nil
	}}
	intervals := 0
	for step, ok := r.Step(); ok; step, ok = r.Step() {
		intervals++
		if err := rec.Record(r, &step); err != nil {
			t.Fatal(err)
		}
	}
	if rows := strings.Count(days["20260105"].String(), "\n"); len(days) != 1 || rows != 2*512*intervals {
		t.Errorf("%d days, %d rows; want two for each of 512 switches and %d intervals", len(days), rows, intervals)
	}
	if n := strings.Count(truth.String(), "\n"); n != intervals {
		t.Errorf("%d lines of truth for %d intervals", n, intervals)
	}
	wantFailures := "2026-01-05T00:00:40Z\tlink_failed\t5,5,4\tY+\tlink down\n2026-01-05T00:00:50Z\tlink_failed\t5,5,4\tZ+\tlink down\n"
	if !strings.HasPrefix(failures.String(), wantFailures) {
		t.Errorf("failures:\n%swant first:\n%s", failures.String(), wantFailures)
	}
	var states []string
	for line := range strings.Lines(jobs.String()) {
		var j schema.Job
		if err := json.Unmarshal([]byte(line), &j); err != nil {
			t.Fatal(err)
		}
		states = append(states, j.ID+" "+j.State)
	}
	if got := strings.Join(states, ", "); got != "101 running, 102 running, 103 running, 103 completed" {
		t.Errorf("jobs: %s", got)
	}
}

func TestSwitchFailureKillsItsJob(t *testing.T) {
	r, err := scenario.New(nil, read(t, `
fabric: {topology: "torus:4x4x4"}
interval: 1s
duration: 10s
jobs: [{id: doomed, at: [1,1,1], size: [2,2,2], traffic: [{pattern: halo, gigabytes_per_second: 1}]}]
events: [{after: 5s, do: fail_switch, object: "2,2,2", for: 3s}]`), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	var rows []int
	failed := false
	for step, ok := r.Step(); ok; step, ok = r.Step() {
		rows = append(rows, step.Batches[len(step.Batches)-1].Rows())
		for _, rec := range step.Jobs {
			failed = failed || rec.ID == "doomed" && rec.State == "failed"
		}
	}
	if !failed {
		t.Error("the job on the switch must fail with it")
	}
	if rows[4] != 384 || rows[5] != 378 || rows[8] != 384 {
		t.Errorf("rows by second: %v; the switch's six must be gone from second 5 to 7", rows)
	}
}

// A job that finds no room is reported, and traffic that finds no way is counted.
func TestWhatCannotBeIsReported(t *testing.T) {
	r, err := scenario.New(nil, read(t, `
fabric: {topology: "mesh:2x2"}
interval: 1s
duration: 4s
jobs:
  - {id: first, nodes: 4, traffic: [{pattern: ring, gigabytes_per_second: 1}]}
  - {id: second, nodes: 1, start: 1s}
events:
  - {after: 2s, do: fail_link, object: "0,0 X+"}
  - {after: 2s, do: fail_link, object: "0,0 Y+"}`), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	detail, unreachable := "", 0
	for step, ok := r.Step(); ok; step, ok = r.Step() {
		for _, e := range step.Events {
			if e.JobID == "second" {
				detail = e.Detail
			}
		}
		unreachable = step.Traffic[0].UnreachableFlows
	}
	if !strings.Contains(detail, "no room") || unreachable != 2 {
		t.Errorf("detail %q, %d unreachable flows; want no room, and the two flows of switch 0,0", detail, unreachable)
	}
}

// Any script that is accepted can be played, and its numbers are sane.
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

// An hour of large fabrics with 200 jobs, minute by minute.
func BenchmarkHour(b *testing.B) {
	const clos = `
fabric: {topology: "fattree:k=48", kind: infiniband, send_gigabytes_per_second: 12.5, storage: {every: 48}}
workload: {jobs: 200, fill_percent: 80, gigabytes_per_second: 2}`
	for _, fabric := range []string{"calm", "busy", "clos"} {
		b.Run(fabric, func(b *testing.B) {
			links := 0
			for b.Loop() {
				s, err := scenario.Builtin(fabric)
				if fabric == "clos" {
					s, err = scenario.Read(strings.NewReader(clos), fabric)
				}
				if err != nil {
					b.Fatal(err)
				}
				r, err := scenario.New(nil, s, 1, start)
				if err != nil {
					b.Fatal(err)
				}
				links = r.Graph().NumLinks()
				for range 60 {
					if _, ok := r.Step(); !ok {
						b.Fatal("the day is over")
					}
				}
			}
			b.ReportMetric(60*float64(links)*float64(b.N)/b.Elapsed().Seconds(), "links/s")
		})
	}
}

// A node that fails is a node's failure, a switch a switch's; what the log says
// stands in events and failures alike.
func TestFailuresOfNodesAndSwitches(t *testing.T) {
	r, err := scenario.New(nil, read(t, `
fabric: {topology: "fattree:leaves=2,hosts=4,spines=2"}
interval: 1s
duration: 4s
events:
  - {after: 1s, do: fail_switch, object: host3, for: 1s, say: "A node dies."}
  - {after: 1s, do: fail_switch, object: spine0}
  - {after: 3s, do: throttle}`), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for step, ok := r.Step(); ok; step, ok = r.Step() {
		for _, f := range step.Failures {
			got = append(got, fmt.Sprintf("%d %s %s", int64(f.Time)/1e9, f.Kind, f.Device))
			if f.Fabric != r.Graph().Fabric() {
				t.Errorf("failure of fabric %q", f.Fabric)
			}
			if !slices.ContainsFunc(step.Events, func(e schema.Event) bool {
				return e.Kind == f.Kind && e.Device == f.Device && e.TimeNanos == int64(f.Time)
			}) {
				t.Errorf("%+v is no event", f)
			}
		}
	}
	want := []string{"1 node_failed host3", "1 switch_failed spine0", "2 node_restored host3", "3 congestion_protection "}
	if !slices.Equal(got, want) {
		t.Errorf("failures %q, want %q", got, want)
	}
}

// A story moved to another fabric has counters that the fabric can have, and is
// refused where its jobs or events need another shape.
func TestPlayOnAnotherFabric(t *testing.T) {
	g, err := topology.Parse("mine", "fattree:k=8")
	if err != nil {
		t.Fatal(err)
	}
	for name, fault := range map[string]string{"incast": "", "busy": "no device", "enzo": "torus or mesh", "calm": ""} {
		story, err := scenario.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		story.PlayOn(g, "fattree:k=8")
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
