package report_test

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/report"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

const begin = schema.Instant(1_700_000_000e9)

// aRing is a ring all-reduce of four ranks on the four hosts of a fat tree of two leaves,
// in iterations of 6 steps of 10 ms; in each, step 3 of rank 1 lasts 31 ms longer. By its
// records' clock it begins at begin.
func aRing(iterations int) collective.Run {
	const ranks, steps, step = 4, 6, 10_000_000
	run := collective.Run{Communicators: []collective.Communicator{{Members: []int{0, 1, 2, 3}, Algorithm: collective.Ring, Steps: steps}}}
	for i := range ranks {
		run.Ranks = append(run.Ranks, collective.Rank{Node: "host" + strconv.Itoa(i), Host: collective.None})
	}
	var end, before [ranks]int64
	for i := range before {
		before[i] = int64(begin)
	}
	for iteration := range iterations {
		for s := 1; s <= steps; s++ {
			for rank := range ranks {
				from := max(before[rank], before[(rank+ranks-1)%ranks])
				end[rank] = from + step
				if rank == 1 && s == 3 {
					end[rank] += 31_000_000
				}
				r := collective.StepRecord{Iteration: int32(iteration), Step: int32(s), Rank: int32(rank), Peer: int32((rank + 1) % ranks), Bytes: 1 << 20,
					AwaitsRank: int32((rank + ranks - 1) % ranks), AwaitsStep: int32(s - 1), BeginNanos: from, EndNanos: end[rank]}
				if s == 1 {
					r.AwaitsStep = collective.None
				}
				run.Steps = append(run.Steps, r)
			}
			before = end
		}
	}
	return run
}

func reportOf(t *testing.T, iterations int) report.Report {
	t.Helper()
	run := aRing(iterations)
	d := collective.Diagnose(run, collective.Options{})
	if len(d.Culprits) != 1 {
		t.Fatalf("culprits %+v", d.Culprits)
	}
	r, err := report.New(run, d, report.Meta{Job: "17", Format: "simulated", Devices: [][]string{{"host0"}, {"host1"}, {"host2"}, {"host3"}}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func fatTree(t *testing.T) *topology.Graph {
	t.Helper()
	g, err := topology.NewFatTree2("f", 2, 2, 2, 1e9)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func linkOf(t *testing.T, g *topology.Graph, device, port string) schema.LinkID {
	t.Helper()
	p, ok := g.FindPort(device, port)
	if !ok {
		t.Fatalf("no port %s of %s", port, device)
	}
	return p.Egress
}

func regionAt(id uint64, second int64, links ...schema.LinkID) report.RegionAt {
	from := begin + schema.Instant(second*1e9)
	return report.RegionAt{Begin: from, End: from + 1e9, Region: schema.Region{ID: id, Metric: schema.CreditStall, Severity: schema.High, Links: links, Size: len(links)}}
}

// Region 5 lies on the possible path of the slow flow (leaf0's two uplinks), and costs
// the job its whole loss; 6 lies on another flow's path, and costs nothing; 7 has no
// flow; 8 has the slow flow's links at another time.
func TestCrossings(t *testing.T) {
	const iterations = 3
	r, g := reportOf(t, iterations), fatTree(t)
	c := report.NewCrosser(&r)
	up := []schema.LinkID{linkOf(t, g, "leaf0", "3"), linkOf(t, g, "leaf0", "4")}
	if err := c.Add(g, regionAt(5, 0, up...), regionAt(6, 0, linkOf(t, g, "host2", "1")), regionAt(7, 0)); err != nil {
		t.Fatal(err)
	}
	if err := c.Add(g, regionAt(8, 60, up...)); err != nil {
		t.Fatal(err)
	}
	found := c.Crossings()
	if len(found) != 2 || found[0].Region != 5 || found[1].Region != 6 {
		t.Fatalf("crossings %+v", found)
	}
	if x := found[0]; math.Abs(float64(x.PerIterationNanos)-31e6) > 1e6 || x.Share != 1 || x.Flows != 1 || x.Worst != "1->2" || x.From != begin || x.To != begin+1e9 {
		t.Errorf("region 5: %+v", x)
	}
	if text := found[0].Sentence("17"); text != "region 5 cost job 17 31 ms per iteration" {
		t.Errorf("sentence %q", text)
	}
	if x := found[1]; x.CostNanos != 0 || x.Worst != "2->3" || x.Share != 1 {
		t.Errorf("region 6: %+v", x)
	}
}

// Two regions that the slow flow may cross share its loss; with a recorded path, the
// region on it has all of it.
func TestCrossingsByRecordedWay(t *testing.T) {
	r, g := reportOf(t, 1), fatTree(t)
	left, right := regionAt(5, 0, linkOf(t, g, "leaf0", "3")), regionAt(6, 0, linkOf(t, g, "leaf0", "4"))
	cost := func() map[uint64]int64 {
		c := report.NewCrosser(&r)
		if err := c.Add(g, left, right); err != nil {
			t.Fatal(err)
		}
		out := map[uint64]int64{}
		for _, x := range c.Crossings() {
			out[x.Region] = x.CostNanos
		}
		return out
	}
	total := r.Diagnosis.Culprits[0].CostNanos
	if both := cost(); both[5] == 0 || both[6] == 0 || math.Abs(float64(both[5]+both[6]-total)) > 2 {
		t.Errorf("hashed: %v of %d", both, total)
	}
	for i := range r.Ways {
		if r.Ways[i].From == 1 {
			r.Ways[i].Via = []string{"host1", "leaf0", "spine1", "leaf1", "host2"}
		}
	}
	if one := cost(); one[6] < total-2 || one[5] != 0 {
		t.Errorf("recorded: %v of %d", one, total)
	}
}

// A report of many ranks and iterations fits into a message, its losses sum to the
// culprits' cost, and it survives the bus unchanged.
func TestReportFitsAndReturns(t *testing.T) {
	const most = 192 << 10
	r := reportOf(t, 400)
	text, err := json.Marshal(&r)
	if err != nil || len(text) > most {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	sum := int64(0)
	for _, l := range r.Losses {
		sum += l.Nanos
	}
	if cost := r.Diagnosis.Culprits[0].CostNanos; math.Abs(float64(sum-cost)) > float64(cost)/1000 {
		t.Errorf("losses of %d ns, cost %d", sum, cost)
	}
	if r.Segments <= len(r.Diagnosis.CriticalPath) || len(r.Timeline.Row) != 24 || len(r.Timeline.Ranks) != 4 {
		t.Errorf("%d of %d segments, timeline of %d steps", len(r.Diagnosis.CriticalPath), r.Segments, len(r.Timeline.Row))
	}
	id := r.ID()
	if id != "collective.17.20231114T221320.000" {
		t.Errorf("id %q", id)
	}
	result := func(id, kind string, output []byte) schema.CommandResult {
		return schema.CommandResult{CommandID: id, Kind: kind, Agent: "n1", Status: schema.CommandDone, Time: begin, Output: output}
	}
	broken := strings.Replace(string(text), `"way":0`, `"way":999`, 1)
	got := report.Reports([]schema.CommandResult{result(id, report.Kind, text), result("other", report.Kind, text), result(id, "hostping", text), result(id, report.Kind, []byte(broken)), result(id, report.Kind, []byte(`[]`))})
	if len(got) != 1 || got[0].RunID != id || got[0].Job != "17" || len(got[0].Losses) != len(r.Losses) {
		t.Errorf("%d reports", len(got))
	}
}

// What does not fit into a report is noted.
func TestALossWithoutRoomIsNoted(t *testing.T) {
	const ranks = 500
	run, m := collective.Run{}, report.Meta{Job: "17", Format: "simulated", Begin: begin}
	d := collective.Diagnosis{Ranks: ranks, MakespanNanos: 1e9, Culprits: make([]collective.Culprit, 3)}
	for i := range ranks {
		run.Ranks = append(run.Ranks, collective.Rank{Node: strconv.Itoa(i), Host: collective.None})
		run.Steps = append(run.Steps, collective.StepRecord{Step: 1, Rank: int32(i), Peer: int32((i + 1) % ranks), EndNanos: 1e9})
		m.Devices = append(m.Devices, []string{strconv.Itoa(i)})
	}
	for culprits, want := range []string{"", "losses of 116.000 ms ", "losses of 360.000 ms ", "losses of 860.000 ms "} { // of 500 ms for each culprit 384 or, of all, 640 have room
		d.Losses = nil
		for c := range culprits {
			for i := range ranks {
				d.Losses = append(d.Losses, collective.Loss{Culprit: c, Rank: i, Peer: (i + 1) % ranks, EndNanos: 1e6, Nanos: 1e6})
			}
		}
		r, err := report.New(run, d, m)
		if err != nil || (want == "") != (len(r.Diagnosis.Notes) == 0) || want != "" && !strings.HasPrefix(r.Diagnosis.Notes[0], want) {
			t.Errorf("%d culprits: notes %q, %v", culprits, r.Diagnosis.Notes, err)
		}
	}
}

// Stragglers are outside the network: no region is charged for them.
func TestStragglerCostsNoRegion(t *testing.T) {
	run := aRing(1)
	d := collective.Diagnose(run, collective.Options{})
	d.Culprits[0].Class = collective.Straggler
	r, err := report.New(run, d, report.Meta{Job: "17", Devices: [][]string{{"host0"}, {"host1"}, {"host2"}, {"host3"}}})
	if err != nil {
		t.Fatal(err)
	}
	g := fatTree(t)
	c := report.NewCrosser(&r)
	if err := c.Add(g, regionAt(5, 0, linkOf(t, g, "host1", "1"))); err != nil {
		t.Fatal(err)
	}
	if found := c.Crossings(); len(found) != 1 || found[0].CostNanos != 0 {
		t.Errorf("%+v", found)
	}
}
