package score_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/giverny/giverny/feedback/score"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// onHost is a region of the links of a host.
func onHost(t *testing.T, g *topology.Graph, host string, id uint64) schema.Region {
	all := func(topology.DeviceID, topology.DeviceID) bool { return true }
	return schema.Region{ID: id, Severity: schema.High, Mean: 50, Metric: schema.CreditStall, Links: linksOf(t, g, host, all)}
}

// The reason names the region, its cause if there is one, and the port at which the back pressure begins.
func TestReasons(t *testing.T) {
	g := parse(t, "fattree:k=4")
	region := onHost(t, g, "host0", 7)
	diagnosis := func(c schema.Cause, root *schema.Root) []schema.Diagnosis {
		return []schema.Diagnosis{{Region: 7, Metric: schema.CreditStall, Cause: c, Root: root}}
	}
	system := schema.Cause{Class: schema.CauseSystem, Confidence: .8}
	for _, c := range []struct {
		diagnoses []schema.Diagnosis
		want      string
	}{
		{nil, "2 of its 2 links are congested: region 7, High 50.0% credit_stall"},
		{diagnosis(schema.Cause{Class: schema.CauseUnknown}, nil), "2 of its 2 links are congested: region 7, High 50.0% credit_stall"},
		{diagnosis(system, nil), "2 of its 2 links are congested: region 7, High 50.0% credit_stall, cause system (80%)"},
		{diagnosis(system, &schema.Root{Device: "host0", Port: "1", Kind: schema.RootIncast}), "back pressure begins at this host port 1: region 7, High 50.0% credit_stall, cause system (80%)"},
		{diagnosis(system, &schema.Root{Device: "leaf", Peer: "host0", Kind: schema.RootIncast}), "back pressure begins at leaf, which leads to this host: region 7, High 50.0% credit_stall, cause system (80%)"},
	} {
		r := &schema.IntervalResult{Regions: []schema.Region{region}, Diagnoses: c.diagnoses}
		if got := of(t, g, r)["host0"].Reason; got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	region.Name = "pod 1"
	region.Forecast = &schema.Forecast{Later: schema.Odds{schema.Medium: .25, schema.High: .5}}
	got := of(t, g, &schema.IntervalResult{Regions: []schema.Region{region}})["host0"].Reason
	if want := "pod 1, High 50.0% credit_stall, 75% likely Medium or worse in 5 intervals"; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Without a diagnosis the root of the region itself names the port.
func TestRootOfARegion(t *testing.T) {
	g := parse(t, "fattree:k=4")
	leaf := g.Device(leafOf(g, "host0")).Name
	toHost1 := linksOf(t, g, "host1", func(_, to topology.DeviceID) bool { return !g.IsSwitch(to) })[0]
	region := onHost(t, g, "host0", 1)
	region.Root = &schema.Root{Device: leaf, Port: g.Link(toHost1).FromPort}
	nodes := of(t, g, &schema.IntervalResult{Regions: []schema.Region{region}})
	if n := nodes["host1"]; n.Relation != score.AtRoot || n.Score != 100 || nodes["host0"].Relation != score.Own {
		t.Errorf("host1: %+v, host0: %+v", n, nodes["host0"])
	}
	region.Root = &schema.Root{Device: leaf, Port: "no such port"}
	if nodes := of(t, g, &schema.IntervalResult{Regions: []schema.Region{region}}); len(nodes) != 1 {
		t.Errorf("with an unknown port: %v", nodes)
	}
}

// A reason names a managed switch as regions do.
func TestReasonsHavePlainNames(t *testing.T) {
	b := topology.NewBuilder("ib0")
	leaf := b.Device(topology.Device{Name: "MF0;leaf1:MQM8700/U1", Kind: topology.Switch, Level: 1, Group: -1})
	for i, host := range []string{"host0", "host1"} {
		d := b.Device(topology.Device{Name: host, Kind: topology.Host, Group: -1})
		b.Both(topology.Link{From: leaf, To: d, FromPort: strconv.Itoa(i + 1), ToPort: "1", Class: topology.ClassHost, Dim: -1})
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	region := onHost(t, g, "host0", 1)
	region.Root = &schema.Root{Device: "MF0;leaf1:MQM8700/U1", Port: "2"}
	reason := of(t, g, &schema.IntervalResult{Regions: []schema.Region{region}})["host1"].Reason
	if want := "back pressure begins at leaf1 port 2, which leads to this host: "; !strings.HasPrefix(reason, want) {
		t.Errorf("%q, want %q", reason, want)
	}
}

// The highest score comes first and on a tie the first name; a host in several regions has the one with its highest score,
// of equal ones the lowest ID.
func TestOrderAndTies(t *testing.T) {
	g := parse(t, "fattree:k=4")
	mild, milder := onHost(t, g, "host0", 3), onHost(t, g, "host5", 2)
	mild.Severity, mild.Mean, milder.Severity, milder.Mean = schema.Low, 6, schema.Low, 6
	regions := []schema.Region{mild, onHost(t, g, "host5", 9), onHost(t, g, "host5", 4), onHost(t, g, "host3", 5), onHost(t, g, "host3", 6), milder}
	r := &schema.IntervalResult{Regions: regions, Snapshot: &schema.Snapshot{Fabric: "ib0", GraphVersion: g.Version()}}
	type row struct {
		node    string
		region  uint64
		regions int
	}
	var got []row
	for _, n := range score.Of(g, r, score.DefaultConfig()).Nodes {
		got = append(got, row{n.Node, n.Region, n.Regions})
	}
	if want := []row{{"host3", 5, 2}, {"host5", 4, 3}, {"host0", 3, 1}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// With more hops the weight halves with each switch.
func TestHops(t *testing.T) {
	g := parse(t, "torus:9x3")
	cfg := score.DefaultConfig()
	cfg.Hops = 3
	start := linksOf(t, g, g.Device(0).Name, func(topology.DeviceID, topology.DeviceID) bool { return true })
	r := &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "ib0", GraphVersion: g.Version()},
		Regions: []schema.Region{{ID: 1, Severity: schema.High, Mean: 50, Links: start}}}
	count := map[float64]int{}
	for _, n := range score.Of(g, r, cfg).Nodes {
		if n.Relation == score.Nearby {
			if count[n.Score]++; n.Score == 8.8 && !strings.HasPrefix(n.Reason, "2 switches from ") {
				t.Errorf("two switches away: %q", n.Reason)
			}
		}
	}
	// Two devices on the row of device 0 and four beside them, at each distance.
	if want := map[float64]int{17.5: 6, 8.8: 6, 4.4: 6}; !maps.Equal(count, want) {
		t.Errorf("%v, want %v", count, want)
	}
}

func TestValidate(t *testing.T) {
	for want, c := range map[string]score.Config{
		"":         {Hops: 8, OwnLink: 1, Leaf: 1},
		"hops":     {Hops: 9},
		"own_link": {OwnLink: 1.5},
		"leaf":     {Leaf: -.5},
	} {
		err := c.Validate()
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
	zero := score.Config{}
	if err := zero.Validate(); err != nil {
		t.Error(err)
	}
}
