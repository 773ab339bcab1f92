package history

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// A job that is requeued within an interval runs once in it: two runs of it cannot share the blame.
func TestARequeuedJobRunsOnce(t *testing.T) {
	h := remembers(roottest.Graph(t, "fattree:leaves=2,hosts=2,spines=1"))
	h.tick(schema.Interval{StartNanos: 60e9, DurationNanos: 60e9})
	h.AddJobs([]schema.Job{
		{ID: "7", Nodes: []string{"host0"}, Start: 5e9, End: 80e9}, {ID: "7", Nodes: []string{"host1"}, Start: 90e9},
		{ID: "8", Nodes: []string{"host2"}, Start: 5e9, End: 80e9}, {ID: "8", Nodes: []string{"host3"}, Start: 130e9},
	})
	var got []schema.Instant
	for _, j := range h.Running() {
		got = append(got, j.Start)
	}
	if len(got) != 2 || got[0] != 90e9 || got[1] != 5e9 {
		t.Errorf("runs that began at %v, want those of 7 at 90 s and of 8 at 5 s", got)
	}
}
