package scenario_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
)

// The devices' reports, converted back to percent, match the truth within noise.
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

// Even if readings are lost or late, each port's are in time order and never rise
// faster than its link can carry.
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

// The same script and seed give the same batches, events and truth. Another seed gives
// other readings of the same story.
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

// Steps shorter than the interval are averaged: a link that is down for 5 s of a 10 s
// interval stalls half as much as one that is down throughout.
func TestStepsAverage(t *testing.T) {
	const text = `
fabric: {topology: "fattree:leaves=2,hosts=1,spines=1", kind: infiniband, send_gigabytes_per_second: 10, victim_ratio: 1}
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

// Jobs of a workload are like those of Blue Waters: most have one node, the few large
// ones use the node-hours; and no two share a node.
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

// A workload with more jobs than nodes fills the fabric.
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

// A job without room is reported, and traffic without a path is counted.
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
