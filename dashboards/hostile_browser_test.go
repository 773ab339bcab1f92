//go:build integration

package dashboards

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// hostileFabric returns a small tree whose names are all markup.
func hostileFabric(t *testing.T) *topology.Graph {
	t.Helper()
	b := topology.NewBuilder("f" + hostile)
	leaf, spine := b.Device(topology.Device{Name: "leaf" + hostile, Label: "L" + hostile, Kind: topology.Switch, Level: 1, Group: 0}), b.Device(topology.Device{Name: "spine" + hostile, Kind: topology.Switch, Level: 2, Group: -1})
	b.Both(topology.Link{From: leaf, To: spine, FromPort: "up" + hostile, ToPort: "down" + hostile, Class: topology.ClassSwitch, CapacityBytesPerSecond: 1e9, Dim: -1})
	for n := range 3 {
		host := b.Device(topology.Device{Name: fmt.Sprint("host", n, hostile), Label: fmt.Sprint("H", n, hostile), Kind: topology.Host, Group: 0})
		b.Both(topology.Link{From: host, To: leaf, FromPort: "1", ToPort: fmt.Sprint(n, hostile), Class: topology.ClassHost, CapacityBytesPerSecond: 1e9, Dim: -1})
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// hostileResult returns an interval whose names are all markup: of regions, jobs, users, devices and ports, and logs.
func hostileResult(t *testing.T, g *topology.Graph) *schema.IntervalResult {
	region := hot(g, 1, schema.High, 0, 4)
	region.Name, region.Root = "R"+hostile, &schema.Root{Device: "leaf" + hostile, Port: "0" + hostile}
	r, own := hostileDay(parse(t, torus)), busy(g, noon, region)
	r.Snapshot, r.Regions, r.States, r.Hot = own.Snapshot, own.Regions, own.States, nil
	for i := range r.Jobs {
		r.Jobs[i].Fabric, r.Jobs[i].Nodes = g.Fabric(), []string{"host0" + hostile}
	}
	r.Jobs[1].ID += ",1"
	d := &r.Diagnoses[0]
	d.Fabric, d.Links, d.Cause.Class, d.Root = g.Fabric(), region.Links, schema.CauseSlowHost, &schema.Root{Link: schema.NoLink, Device: "leaf" + hostile, Port: "0" + hostile, Peer: "host0" + hostile, Kind: "slow_receiver"}
	r.Diagnoses = r.Diagnoses[:1]
	r.Events = []schema.Event{{TimeNanos: noon, Fabric: g.Fabric(), Kind: schema.Story, Detail: hostile}, {TimeNanos: noon, Fabric: g.Fabric(), Kind: schema.LinkFailed, Device: "leaf" + hostile, Port: hostile, Detail: hostile}}
	return r
}

// storeHostileSearch stores a search, its finding and the host's hardware, with names that are all markup.
func (h *house) storeHostileSearch(fabric string) {
	h.t.Helper()
	subsystem := schema.Subsystem{NICModel: "N" + hostile, Board: hostile, Firmware: hostile, CPU: hostile, PCIe: hostile, Kernel: hostile}
	steps := aSearch()
	for i := range steps {
		s := &steps[i]
		s.Time, s.Principal, s.Reason = schema.InstantOf(time.Now()), hostile, hostile
		s.Report.Subsystem, s.Report.Engine, s.Report.Adapter, s.Report.Peers = subsystem, hostile, hostile, []string{hostile}
		for f := range s.Report.Findings {
			mfs, err := json.Marshal(map[string]any{"d" + hostile: map[string]any{"in": []string{hostile}}})
			if err != nil {
				h.t.Fatal(err)
			}
			s.Report.Findings[f].Symptom, s.Report.Findings[f].MFS = hostile, mfs
		}
	}
	steps[1].Agent = "a" + hostile
	if err := h.db.StoreSearchSteps(h.t.Context(), fabric, steps); err != nil {
		h.t.Fatal(err)
	}
	report := schema.HardwareReport{Agent: "a" + hostile, Time: schema.Instant(noon), Hardware: schema.HostHardware{CPU: hostile, Kernel: hostile,
		Adapters: []schema.Adapter{{Name: hostile, Device: "host0" + hostile, Model: "N" + hostile, Board: hostile, Firmware: hostile, PCIe: hostile}}}}
	if err := h.db.StoreHardware(h.t.Context(), fabric, []schema.HardwareReport{report}); err != nil {
		h.t.Fatal(err)
	}
}

// storeHostileCollective stores a diagnosed collective whose names are hostile.
func (h *house) storeHostileCollective(fabric string) {
	h.t.Helper()
	published := aCollective(h.t)
	r := &published[0].Report
	r.Job, r.Devices[0][0], r.Begin = "17"+hostile, "host0"+hostile, schema.InstantOf(time.Now().Add(-time.Hour))
	for i := range r.Diagnosis.Culprits {
		c := &r.Diagnosis.Culprits[i]
		c.Flow, c.Object, c.Evidence = "f"+hostile, "o"+hostile, "e"+hostile
	}
	r.Diagnosis.Notes = []string{"n" + hostile}
	if err := h.db.StoreCollectives(h.t.Context(), fabric, published); err != nil {
		h.t.Fatal(err)
	}
}

// Names from outside are text wherever the page shows them: of the fabric, devices, ports, regions, jobs, users,
// searches, agents, network cards, anomalies, collectives and their culprits, and in the address.
func TestHostileNamesOnEveryPage(t *testing.T) {
	db, _ := database(t)
	g := hostileFabric(t)
	h := serveGraphs(t, db, g)
	h.announce(hostileResult(t, g))
	h.storeHostileSearch(g.Fabric())
	h.storeHostileCollective(g.Fabric())
	page := browse(t, h.url+"/?fabric="+url.QueryEscape(g.Fabric())+"&select="+url.QueryEscape("device:host0"+hostile)+"&job="+url.QueryEscape("17,4"+hostile+"%2C1")+"&from="+url.QueryEscape(hostile))
	page.await(shown)
	page.await(`document.getElementById("known").textContent.includes("another firmware") || document.getElementById("known").textContent.includes("this card has")`)
	const markup = `String(document.querySelectorAll("img, main script, iframe, [onerror]").length) + " " + (document.title === "owned")`
	click := func(what string) string { return fmt.Sprintf(`document.querySelector(%q).click()`, what) }
	for _, step := range []struct{ does, says string }{
		{`0`, "R" + hostile}, {`0`, "H0" + hostile}, {`0`, "N" + hostile},
		{`document.getElementById("find").value = "<"; document.getElementById("find").dispatchEvent(new Event("input"))`, "leaf" + hostile},
		{click("[data-page=jobs]"), "17 " + hostile}, {click("[data-page=searches]"), "d" + hostile}, {`0`, "a" + hostile}, {click("[data-page=hosts]"), "node"},
		{click("[data-page=collectives]"), "o" + hostile}, {click("#other table button"), "e" + hostile}, {`0`, "n" + hostile},
		{click("[data-page=map]"), "R" + hostile}, {`document.querySelector("#layouts [data-name=path]").click()`, ""}, {`document.querySelector("#layouts [data-name=matrix]").click()`, ""},
	} {
		page.eval(step.does)
		page.await(fmt.Sprintf(`document.body.textContent.includes(%q)`, step.says))
		if got := page.eval(markup); got != "0 false" {
			t.Errorf("after %s there is markup: %s", step.does, got)
		}
	}
	const bare = `String([...document.querySelectorAll("main *")].filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && /^(null|undefined|NaN)$/.test(n.data.trim()))).length)`
	page.visit(h.url + "/?page=jobs&fabric=" + url.QueryEscape(g.Fabric()))
	page.await(`document.querySelectorAll("#other table").length === 1`)
	if words := page.eval(bare); words != "0" {
		t.Errorf("%s elements of the jobs page say null, undefined or NaN", words)
	}
	page.visit(h.url + "/?fabric=" + url.QueryEscape(g.Fabric()) + "&job=" + url.QueryEscape("17,4"+hostile+"%2C1"))
	page.await(shown)
	if title := page.eval(`document.title`); !strings.Contains(title, hostile) {
		t.Errorf("the title is %q", title)
	}
	if marked := page.eval(`String(document.querySelectorAll("#jobs [aria-pressed=true]").length)`); marked != "2" {
		t.Errorf("of two jobs in the address, one with a comma in its id, %s are marked", marked)
	}
}
