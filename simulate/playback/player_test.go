package playback

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/simulate/scenario"
	"github.com/giverny/giverny/topology/topologytest"
)

// A story that begins now keeps pace with the clock, although its first interval began before it and setting up took time;
// otherwise an analyser would treat all its readings as late.
func TestAStoryThatBeginsNowIsNotLate(t *testing.T) {
	script, err := scenario.Read(strings.NewReader(`{name: s, about: x, fabric: {name: f, topology: "fattree:leaves=2,hosts=2,spines=1", kind: infiniband},
		interval: 10s, duration: 20s, jobs: [{id: "1", hosts: "0-3", traffic: [{pattern: ring, gigabytes_per_second: 1}]}], events: [{after: 0s, say: go}]}`), "s")
	if err != nil {
		t.Fatal(err)
	}
	graph := topologytest.Parse(t, "f", script.Fabric.Topology)
	began := time.Now()
	runner, err := scenario.New(graph, script, 1, began.Add(-30*time.Second).UnixNano())
	if err != nil {
		t.Fatal(err)
	}
	p := &Player{Runner: runner, Speed: 1, Live: true, Progress: io.Discard}
	if err := p.Play(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("what should have been read already was sent after %v", took)
	}
}
