//go:build integration

package main

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// A collective that a simulation slowed is published by the command, over a real Kafka and the real engine: the API has
// its diagnosis, the regions that its flows crossed with what each cost, and by the region the job. A region on links that
// no flow takes is not among them.
func TestCollectivePublishOverApacheKafka(t *testing.T) {
	s := newSite(t)
	s.run("analyze", "-c", s.config("analyser", ""))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.page = "http://" + l.Addr().String()
	l.Close()
	s.run("serve", "-c", s.config("page", "http: {listen: '"+l.Addr().String()+"', metrics: {listen: '127.0.0.1:0'}}\n"))

	folder, hosts := filepath.Join(s.dir, "run"), filepath.Join(s.dir, "hosts.tsv")
	if _, stderr, err := giverny(t.Context(), "simulate", "collective", "--class", "background_flow", "--seed", "7", "--out", folder); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	var names strings.Builder
	for i := range 16 {
		fmt.Fprintf(&names, "%d\thost%d\n", i, i)
	}
	writeText(t, hosts, names.String())
	begin := time.Now().Truncate(time.Second).Add(-time.Minute)
	s.congested(begin)
	out := s.operate(well, "collective", "publish", "--job", "17", "--format", "simulated", "--begin", begin.Format(time.RFC3339), "--node-map", hosts, folder)
	id := strings.TrimSpace(out[strings.LastIndex(out, " "):])

	var list struct {
		Collectives []struct {
			RunID    string `json:"run_id"`
			Culprits []struct {
				Class  string
				CostNS int64 `json:"cost_ns"`
			}
		}
	}
	for deadline := time.Now().Add(time.Minute); len(list.Collectives) == 0; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the collective is not in the API")
		}
		s.get("collectives?job=17", &list)
	}
	if c := list.Collectives[0]; c.RunID != id || len(c.Culprits) == 0 || c.Culprits[0].Class != "background_flow" || c.Culprits[0].CostNS <= 0 {
		t.Fatalf("%s: %+v", id, c)
	}
	cost := list.Collectives[0].Culprits[0].CostNS
	type crossed struct {
		Job    string `json:"job_id"`
		Region string
		CostNS int64 `json:"cost_ns"`
		Text   string
	}
	var run struct {
		Diagnosis struct {
			CriticalPath []struct{} `json:"critical_path"`
		}
		Timeline struct{ Row []int }
		Regions  []crossed
	}
	s.get("collectives/"+id, &run)
	if len(run.Regions) != 1 || run.Regions[0].Region != "4711" || run.Regions[0].CostNS < cost*9/10 || len(run.Diagnosis.CriticalPath) == 0 || len(run.Timeline.Row) == 0 {
		t.Errorf("%+v, culprit costs %d", run, cost)
	}
	var region struct{ Collectives []crossed }
	s.get(fmt.Sprintf("tracks/4711/collectives?from=%s", begin.Format(time.RFC3339)), &region)
	if len(region.Collectives) != 1 || region.Collectives[0].Job != "17" || region.Collectives[0] != (crossed{"17", "4711", run.Regions[0].CostNS, run.Regions[0].Text}) || !strings.HasPrefix(region.Collectives[0].Text, "region 4711 cost job 17 ") {
		t.Errorf("%+v", region)
	}
}

// congested stores an interval with a region on every link up from leaves, and one on the link to a host without a rank.
func (s *site) congested(begin time.Time) {
	s.t.Helper()
	g, err := topology.Parse("ib0", "fattree:k=4")
	if err != nil {
		s.t.Fatal(err)
	}
	region := func(id uint64, wanted func(l topology.Link) bool) schema.Region {
		r := schema.Region{ID: id, Metric: schema.CreditStall, Severity: schema.High, Mean: 40, Max: 50, Name: "of the test"}
		for l := range schema.LinkID(g.NumLinks()) {
			if wanted(g.Link(l)) {
				r.Links = append(r.Links, l)
			}
		}
		r.Size = len(r.Links)
		return r
	}
	level := func(d topology.DeviceID) int8 { return g.Device(d).Level }
	r := &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "ib0", GraphVersion: g.Version(), Links: g.NumLinks(), Interval: schema.Interval{StartNanos: begin.UnixNano(), DurationNanos: int64(time.Second)}},
		Regions: []schema.Region{
			region(4711, func(l topology.Link) bool { return level(l.From) == 1 && level(l.To) == 2 }),
			region(4712, func(l topology.Link) bool { return level(l.To) == 0 && g.Device(l.To).Name == "host15" })}}
	if err := s.db.Store(s.t.Context(), r); err != nil {
		s.t.Fatal(err)
	}
}
