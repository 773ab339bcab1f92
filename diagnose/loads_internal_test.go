package diagnose

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestAJobLoadsItsGround: without a table of traffic a job is known to load a region if load was added all over the links
// of its exchange; not if only what converges on one of its nodes was added, if the load did not rise, or if the region
// lies among the nodes of another job.
func TestAJobLoadsItsGround(t *testing.T) {
	var block []string
	for _, x := range "123" {
		for _, y := range "123" {
			for _, z := range "123" {
				block = append(block, string(x)+","+string(y)+","+string(z))
			}
		}
	}
	for _, c := range []struct {
		name   string
		all    bool // all exchange; else all send to the last
		load   float64
		tenant bool // of the other job, at every second node
		want   bool
	}{{"exchange", true, 2, false, true}, {"incast", false, 2, false, false}, {"no more load", true, 1, false, false}, {"among others", true, 2, true, false}} {
		t.Run(c.name, func(t *testing.T) {
			u := newTiedUp(t)
			own, other := &job{Job: schema.Job{ID: "own"}}, &job{Job: schema.Job{ID: "other"}}
			for _, name := range block {
				own.devices = append(own.devices, u.device(t, name))
			}
			slices.Sort(own.devices)
			var links []schema.LinkID
			for i, to := range own.devices {
				if !c.all && i < len(own.devices)-1 {
					continue
				}
				links = append(links, u.send(slices.DeleteFunc(slices.Clone(own.devices), func(d topology.DeviceID) bool { return d == to }), to)...)
			}
			slices.Sort(links)
			for i, d := range own.devices {
				u.stage.work.tenants[d] = []*job{own}
				if c.tenant && i%2 == 1 {
					u.stage.work.tenants[d] = []*job{own, other}
				}
			}
			rc := &regionCase{region: &schema.Region{Links: links}, load: c.load}
			if got := u.stage.loadsAll(rc, &suspect{job: own, cross: 1}, u.p); got != c.want {
				t.Errorf("loads its ground: %t, want %t", got, c.want)
			}
		})
	}
}
