package diagnose

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestAJobLoadsItsGround: without a traffic table, a job is known to load a region if load was added all over the links
// of its exchange, also among another job's nodes; not if only traffic that converges on one of its nodes was added, or
// if the load did not rise.
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
		all    bool // all exchange; else all send to the last node
		load   float64
		tenant bool // of the other job, at every second node
		want   bool
	}{{"exchange", true, 2, false, true}, {"incast", false, 2, false, false}, {"no more load", true, 1, false, false}, {"among others", true, 2, true, true}} {
		t.Run(c.name, func(t *testing.T) {
			u := newTiedUp(t)
			own, other := &job{Job: &history.Job{Job: schema.Job{ID: "own"}}}, &job{Job: &history.Job{Job: schema.Job{ID: "other"}}}
			for _, name := range block {
				own.Devices = append(own.Devices, u.Device(t, name))
			}
			slices.Sort(own.Devices)
			var links []schema.LinkID
			for i, to := range own.Devices {
				if !c.all && i < len(own.Devices)-1 {
					continue
				}
				links = append(links, u.Send(slices.DeleteFunc(slices.Clone(own.Devices), func(d topology.DeviceID) bool { return d == to }), to)...)
			}
			slices.Sort(links)
			for i, d := range own.Devices {
				u.stage.tenants[d] = []*job{own}
				if c.tenant && i%2 == 1 {
					u.stage.tenants[d] = []*job{own, other}
				}
			}
			rc := &regionCase{in: &u.stage.interval, p: u.p, region: &schema.Region{Links: links}, load: times(c.load)}
			for range links {
				rc.waits = append(rc.waits, 1)
			}
			rc.findAdded()
			if got := gridOf(rc).loadsAll(&suspect{job: own, cross: 1}); (got > 0) != c.want {
				t.Errorf("loads its ground by %.2f, want any: %t", got, c.want)
			}
			last := own.Devices[len(own.Devices)-1]
			rc.suspects, rc.verdict.exchanges = []suspect{{job: own}}, rc.loadsExchange(own)
			at := rc.accused(0, &schema.Root{Kind: schema.RootIncast, Device: u.stage.graph.Device(last).Name}).Receiver
			if named := at != ""; named == c.all {
				t.Errorf("the one receiver is named: %t", named)
			}
		})
	}
}
