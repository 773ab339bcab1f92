package search

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestKnownWithin: an MFS found in a restricted space is known only there.
func TestKnownWithin(t *testing.T) {
	space, err := NewSpace([]Dimension{
		{Name: "direction", Values: []Value{Text("uni"), Text("bi")}},
		{Name: "qps", Ordered: true, Values: []Value{Number(1), Number(16), Number(64), Number(256)}},
		{Name: "sizes", Pattern: true, MaxLength: 4, Values: []Value{Number(64), Number(1024), Number(65536)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const report = `{"type":"anomaly","experiment":1,"mfs":{"qps":{"min":64}},"within":{"qps":{"max":64},"sizes":{"all":{"max":1024}}}}
		{"type":"revised","experiment":9,"of":1,"mfs":{"qps":{"min":16}}}`
	known, err := space.ParseKnown([]byte(report))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		workload string
		covered  bool
	}{
		{`{"direction":"bi","qps":16,"sizes":[64,1024]}`, true},
		{`{"direction":"bi","qps":16,"sizes":[64,65536]}`, false},
		{`{"direction":"bi","qps":256,"sizes":[64]}`, false},
		{`{"direction":"bi","qps":1,"sizes":[64]}`, false},
	} {
		w, err := space.ParseWorkload([]byte(c.workload))
		if err != nil {
			t.Fatal(err)
		}
		if got := known[0].Covers(w); got != c.covered {
			t.Errorf("%s: covered %v, want %v", c.workload, got, c.covered)
		}
		if !c.covered {
			continue
		}
		changes := known[0].Changes(w)
		if len(changes) != 1 || changes[0].Dimension != "qps" || changes[0].To[0].String() != "1" {
			t.Errorf("changes %v: want only qps 1, what was not searched may trigger too", changes)
		}
	}
	outside := strings.Replace(report, `"qps":{"max":64}`, `"qps":{"max":1}`, 1)
	if _, err := space.ParseKnown([]byte(outside)); err == nil || !strings.Contains(err.Error(), "lies outside") {
		t.Errorf("an mfs outside of within: %v", err)
	}
	mixed, err := space.ParseKnown([]byte(`{"type":"anomaly","experiment":1,"mfs":{"sizes":{"any":[{"min":1024}]}},"within":{"sizes":{"all":{"max":1024}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(50) {
		if p := mixed[0].random(rand.New(rand.NewPCG(seed, 1))); !mixed[0].covers(p) {
			t.Fatalf("%v is drawn from %s and does not meet it", p, mixed[0])
		}
	}
	wide, err := space.Restrict(Restriction{"sizes": {In: []Value{Number(65536)}}})
	if err != nil {
		t.Fatal(err)
	}
	if known, err := wide.ParseKnown([]byte(report)); err != nil || len(known) != 0 {
		t.Errorf("%v %v: want none, no size of the report is left", known, err)
	}
}

// TestFindingWithin: a finding's line says where it is known, and reading it gives the MFS in the whole space.
func TestFindingWithin(t *testing.T) {
	most := Number(64)
	space, err := NewSpace([]Dimension{
		{Name: "direction", Values: []Value{Text("uni"), Text("bi"), Text("loopback")}},
		{Name: "qps", Ordered: true, Values: []Value{Number(1), Number(16), Number(64), Number(256)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	left, err := space.Restrict(Restriction{"direction": {Except: []Value{Text("loopback")}}, "qps": {Max: &most}})
	if err != nil {
		t.Fatal(err)
	}
	mfs, err := left.ParseMFS([]byte(`{"qps":{"min":16}}`))
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(Finding{Anomaly: Anomaly{Experiment: 1, Workload: left.workload(point{{1}, {2}}), MFS: mfs}})
	if err != nil {
		t.Fatal(err)
	}
	if want := `"mfs":{"qps":{"min":16}},"within":{"direction":{"in":["uni","bi"]},"qps":{"max":64}}}`; !strings.HasSuffix(string(line), want) {
		t.Errorf("%s: want %s", line, want)
	}
	known, err := space.ParseKnown(line)
	if err != nil {
		t.Fatal(err)
	}
	if _, exact := Compare(known[0], mfs.Everywhere()); !exact {
		t.Errorf("read as %s, is %s", known[0], mfs.Everywhere())
	}
	if own, err := left.ParseKnown(line); err != nil || own[0].String() != mfs.String() {
		t.Errorf("in its own space %v, %v: want %s", own, err, mfs)
	}
}
