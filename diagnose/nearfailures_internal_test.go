package diagnose

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestAFailedLinkBesideARegion: of two links of a torus that failed beside a region, the one that the region's traffic leads to keeps its
// score. The other one loses what it had by its time, unless it is over and only counts for an unknown cause, or load readings show what
// it carried.
func TestAFailedLinkBesideARegion(t *testing.T) {
	for _, c := range []struct{ over, loads bool }{{}, {over: true}, {loads: true}} {
		u := newTiedUp(t)
		u.stage.loads = c.loads
		var senders []topology.DeviceID
		for _, name := range []string{"0,0,0", "0,0,1", "0,1,0", "0,1,1", "1,0,0", "1,1,0"} {
			senders = append(senders, u.Device(t, name))
		}
		to := u.Device(t, "3,2,2")
		slices.Sort(senders)
		links := u.Send(senders, to)
		slices.Sort(links)
		all := append(slices.Clone(senders), to)
		slices.Sort(all)
		j := &job{Job: &history.Job{Job: schema.Job{ID: "a"}, Devices: all}}
		rc := &regionCase{interval: &u.stage.interval, region: &schema.Region{Links: links}}
		from := []root.Sender{{Devices: all, Routes: rc.routesOf(j)}}
		rc.finder.Drain(u.p, links, from, 1)
		for _, name := range []string{"4,4,4>4,4,5", "3,2,1>3,2,2"} {
			l := roottest.Link(t, u.Graph, name)
			f := &history.PlacedFailure{Failure: schema.Failure{Kind: schema.LinkFailed, Port: name}, Links: []schema.LinkID{l}}
			rc.failures = append(rc.failures, nearFailure{PlacedFailure: f, score: 3 - float64(len(rc.failures)), over: c.over && len(rc.failures) == 0})
		}
		rc.fitFailures(from)
		first, second := rc.failures[0], rc.failures[1]
		if c.loads {
			first, second = second, first
		}
		if first.Port != "3,2,1>3,2,2" || first.score != 2 || first.share <= 0 {
			t.Errorf("%+v: first %s with score %v and share %v", c, first.Port, first.score, first.share)
		}
		want := 3.
		if !c.over && !c.loads {
			want -= leadsElsewhere
		}
		if second.share != 0 || second.score != want {
			t.Errorf("%+v: a link that nothing leads to has score %v and share %v, want %v and 0", c, second.score, second.share, want)
		}
	}
}
