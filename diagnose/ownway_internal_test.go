package diagnose

import (
	"math"
	"testing"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

func TestOthersShareOfWhatWaits(t *testing.T) {
	suspectOf := func(id string, nodes int, waits float64) suspect {
		return suspect{job: &job{Job: schema.Job{ID: id}, devices: make([]topology.DeviceID, nodes)}, waits: waits}
	}
	for _, c := range []struct {
		name string
		jobs []suspect
		want float64
		idle bool
		full schema.LinkID
	}{
		{"no job waits", []suspect{suspectOf("a", 8, 0)}, 1, false, schema.NoLink},
		{"alone", []suspect{suspectOf("a", 8, .5), suspectOf("b", 100, 0)}, 0, false, schema.NoLink},
		{"as many others wait as much", []suspect{suspectOf("a", 8, .5), suspectOf("b", 8, .5)}, .5, false, schema.NoLink},
		{"many others wait a little", []suspect{suspectOf("a", 10, .5), suspectOf("b", 50, .05)}, 1. / 21, false, schema.NoLink},
		{"links are idle for a part of the time", []suspect{suspectOf("a", 10, .5), suspectOf("b", 50, .05)}, 1. / 3, true, schema.NoLink},
		{"but one is full", []suspect{suspectOf("a", 10, .5), suspectOf("b", 50, .05)}, 1. / 21, true, 7},
		{"requeued, it is itself", []suspect{suspectOf("a", 8, .5), suspectOf("a", 8, .5)}, 0, false, schema.NoLink},
	} {
		rc := &regionCase{jobs: c.jobs, drain: root.Drain{Idle: c.idle}, full: c.full}
		if got := rc.othersShare(c.jobs[0].job); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %.3f, want %.3f", c.name, got, c.want)
		}
	}
}

// TestOnlyOwnHostsWait: one host of another job that waits a little among many of a job's own does not make it load on the
// system, as many as its own do; where few of its own hosts wait, the rest of what it sends crosses others unseen.
func TestOnlyOwnHostsWait(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=6,spines=1")
	j := &job{Job: schema.Job{ID: "1", Nodes: []string{"host0", "host1", "host2", "host3", "host4"}}}
	j.place(g)
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		stalls map[string]float64
		want   bool
	}{
		{"one other", map[string]float64{"host1>leaf0": 50, "host2>leaf0": 50, "host3>leaf0": 40, "host4>leaf0": 50, "host6>leaf1": 8}, true},
		{"as many others", map[string]float64{"host1>leaf0": 50, "host2>leaf0": 50, "host3>leaf0": 40, "host6>leaf1": 50, "host7>leaf1": 50, "host8>leaf1": 50}, false},
		{"few of its own", map[string]float64{"host1>leaf0": 50, "host2>leaf0": 50, "leaf0>spine0": 40}, false},
	} {
		p, links := readings(t, g, c.stalls, nil)
		if got := s.onlyOwnWait(&regionCase{region: &schema.Region{Links: links}}, j, p); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
