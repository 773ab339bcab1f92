//go:build integration

package dashboards

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/topology"
)

const windowWidth, windowHeight = 1440, 900

// flat is the page with the torus drawn as planes: drawing it in 3-D takes a CPU most of a second.
const flat = "/?layout=planes"

// picture returns a picture of the page; go test -artifacts keeps it.
func picture(t *testing.T, p *tab) image.Image {
	t.Helper()
	data := p.screenshot()
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), "page.png"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	decoded, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if size := decoded.Bounds().Size(); size != image.Pt(windowWidth, windowHeight) {
		t.Errorf("the screenshot is %v", size)
	}
	return decoded
}

const (
	shown = `/ UTC, /.test(document.getElementById("status").textContent) && document.querySelector("[data-painted]") !== null`
	live  = `document.getElementById("status").textContent.endsWith("live")`
	tip   = `document.getElementById("tip").textContent`
	dom   = `document.documentElement.outerHTML`
)

// mapColours counts the colours in the upper left of the page, where the map is.
func mapColours(picture image.Image) int {
	seen := map[[3]uint32]bool{}
	for y := 60; y < windowHeight-110; y++ {
		for x := range windowWidth - 360 {
			r, g, b, _ := picture.At(x, y).RGBA()
			seen[[3]uint32{r >> 8, g >> 8, b >> 8}] = true
		}
	}
	return len(seen)
}

func TestThePageInABrowser(t *testing.T) {
	specs := []string{"torus:24x24x24", "fattree:k=8", "dragonfly:groups=9,routers=4,hosts=2", "mesh:12x7"}
	h := open(t, specs...)
	page := browse(t, h.url)
	for _, spec := range specs {
		t.Run(strings.ReplaceAll(spec, ":", "_"), func(t *testing.T) {
			page.t = t
			h.fillHistory(h.graph(spec))
			h.store(h.graph(spec), busy(h.graph(spec), noon, regionsOf(h.graph(spec))...)) // stored now: a state stored 10 s ago would be unknown
			page.visit(h.url + "/?fabric=" + url.QueryEscape(spec))
			page.await(shown)
			lookAt(t, page, regionsOf(h.graph(spec)))
		})
	}
	page.t = t
}

func regionsOf(g *topology.Graph) []schema.Region {
	n := g.NumLinks()
	return []schema.Region{hot(g, 3, schema.Low, n/10, n/12), hot(g, 1, schema.High, n/3, n/20), hot(g, 2, schema.Medium, n/2, n/8)}
}

// lookAt checks what the page says about a busy interval, and that it is drawn.
func lookAt(t *testing.T, page *tab, regions []schema.Region) {
	t.Helper()
	dom := page.eval(dom)
	for _, r := range regions {
		if !strings.Contains(dom, r.Name) || !strings.Contains(dom, r.Severity.String()+": mean") {
			t.Errorf("the page does not list region %s", r.Name)
		}
	}
	for _, text := range []string{"High congestion", "22:13:21 UTC, ", "A cable &lt;b&gt;dies&lt;/b&gt;.", "link failed 0,0,0 X+: link down", "for 7 s",
		"Congestion event for 3 min", "in 1 s", "High 60%", "Low 50%", "in 5 s: High 20%, Low 50%, gone 30%", "(+3)", "High 90%", "0.7%, 101 s"} {
		if !strings.Contains(dom, text) {
			t.Errorf("the page does not say %q", text)
		}
	}
	for _, text := range []string{"undefined", "NaN", "TypeError", "connection lost"} {
		if strings.Contains(dom, text) {
			t.Errorf("the page says %q", text)
		}
	}
	if last := page.eval(`document.getElementById("strip").getAttribute("aria-valuemax")`); last != "239" {
		t.Errorf("the time strip ends with interval %s", last)
	}
	if order := page.eval(listed); order != "High Medium Low" {
		t.Errorf("the regions are listed as %s", order)
	}
	page.eval(`(() => { const s = document.getElementById("least"); s.value = "Medium"; s.dispatchEvent(new Event("change")); })()`)
	page.await(`document.querySelectorAll("#regions li").length === 2`)
	if order := page.eval(listed); order != "High Medium" {
		t.Errorf("from Medium on, the regions are listed as %s", order)
	}
	page.eval(`(() => { const s = document.getElementById("least"); s.value = ""; s.dispatchEvent(new Event("change")); })()`)
	page.await(`document.querySelectorAll("#regions li").length === 3`)
	if colours := mapColours(picture(t, page)); colours < 30 {
		t.Errorf("the map has %d colours only", colours)
	}
}

// listed are the severities of the listed regions.
const listed = `[...document.querySelectorAll("#regions small")].map((e) => e.textContent.split(":")[0]).join(" ")`

// fillHistory stores the intervals that the timeline shows before noon.
func (h *house) fillHistory(g *topology.Graph) {
	h.t.Helper()
	for _, statement := range []string{
		"INSERT INTO intervals (fabric, time, graph_version, duration_ms, links, measured, stored_at) SELECT {fabric:String}, fromUnixTimestamp64Milli({noon:Int64} - 1000 * (number + 1)), {version:UInt64}, 1000, 1, map('credit_stall', 1), now() FROM numbers(239)",
		"INSERT INTO network_states (fabric, time, graph_version, metric, state, regions, stored_at) SELECT {fabric:String}, fromUnixTimestamp64Milli({noon:Int64} - 1000 * (number + 1)), {version:UInt64}, 'credit_stall', if(number < 60, 'High', 'Low'), [0, number % 3, number % 4, number < 60], now() FROM numbers(239)",
	} {
		if err := h.conn.Exec(h.t.Context(), statement, clickhouse.Named("fabric", g.Fabric()), clickhouse.Named("noon", noon/1e6), clickhouse.Named("version", g.Version())); err != nil {
			h.t.Fatal(err)
		}
	}
}

// Before anything is stored the page waits, which is not an error.
func TestThePageWaits(t *testing.T) {
	h := open(t, torus)
	page := browse(t, h.url)
	page.await(`document.getElementById("status").textContent === "waiting for the first interval"`)
	if text := page.eval(dom); strings.Contains(text, "404") || strings.Contains(text, "stale") {
		t.Errorf("an empty store: %s", text)
	}
	picture(t, page)
	eventually(t, "six requests to load the page", func() bool { // fabrics, snapshot, network, events, status, graph; jobs once there is an interval
		return h.metric("giverny_dashboards_requests_total") == 6 // each is counted after it is answered
	})
	h.db.Close()
	page.visit(h.url)
	page.await(`document.getElementById("status").textContent.includes("the store did not answer")`)
	if text := page.eval(`document.getElementById("notice").textContent`); !strings.Contains(text, "the store did not answer") {
		t.Errorf("instead of the map the page says %q", text)
	}
	page.errors = nil // those of the 502 answers
}

// An interval that is stored while the page is open appears without a reload.
func TestThePageFollows(t *testing.T) {
	h := open(t, torus)
	page := browse(t, h.url+flat)
	page.await(`document.getElementById("status").textContent.startsWith("waiting")`)
	h.announce(busy(h.graph(torus), noon))
	page.await(shown)
}

// announce stores a result and announces it, as the analysis of this process does.
func (h *house) announce(r *schema.IntervalResult) {
	h.t.Helper()
	h.store(h.fabrics[r.Snapshot.Fabric].graphs.current(), r)
	if err := h.Put(h.t.Context(), r); err != nil {
		h.t.Fatal(err)
	}
}

// An interval that is stored while the page asks for it is not shown with the earlier answer that there was no state.
func TestStateOfAnIntervalThatComesMeanwhile(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	page := browse(t, "about:blank")
	page.call("Page.enable", nil, nil)
	page.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `
		const ask = window.fetch, held = new Promise((go) => { window.release = go; });
		window.fetch = async (...what) => {
			const of = new URL(what[0].url ?? what[0], location).pathname;
			if (of.endsWith("/snapshot")) await held;
			const answer = await ask(...what);
			if (of.endsWith("/status")) window.stateIsKnown = true;
			return answer;
		};`}, nil)
	page.visit(h.url + flat)
	page.await(`window.stateIsKnown === true`)
	h.store(g, busy(g, noon, hot(g, 1, schema.High, 60, 20)))
	page.eval(`window.release()`)
	page.await(`/^(unknown|high)/i.test(document.getElementById("severity").textContent)`)
	if got := page.eval(`document.getElementById("severity").textContent`); !strings.HasPrefix(got, "High congestion") {
		t.Errorf("beside the first interval the page says %q", got)
	}
}

// The page opens on the metric that is worst and lists the regions of all metrics.
// When that metric is calm it changes to another, unless the user has picked one.
func TestThePageShowsTheWorstMetric(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	of := func(m schema.Metric, r schema.Region) schema.Region { r.Metric = m; return r }
	low, high := of(schema.CreditStall, hot(g, 1, schema.Low, 0, 20)), of(schema.InqStall, hot(g, 2, schema.High, 60, 20))
	h.announce(busy(g, noon, low, high))
	page := browse(t, h.url+flat)
	page.await(shown)
	const metric, clock = `document.getElementById("metric").value`, `document.getElementById("status").textContent.includes("%s")`
	if got := page.eval(metric); got != "inq_stall" {
		t.Errorf("the page opens on %s", got)
	}
	if order := page.eval(listed); order != "High Low" {
		t.Errorf("the regions are listed as %s", order)
	}
	high.Metric = schema.CreditStall
	h.announce(busy(g, noon+second, high))
	page.await(fmt.Sprintf(clock, "22:13:22"))
	if got := page.eval(metric); got != "credit_stall" {
		t.Errorf("the page stays on %s, which is calm", got)
	}
	page.eval(`document.getElementById("metric").value = "inq_stall"; document.getElementById("metric").dispatchEvent(new Event("change"))`)
	h.announce(busy(g, noon+2*second, high))
	page.await(fmt.Sprintf(clock, "22:13:23"))
	if got := page.eval(metric); got != "inq_stall" {
		t.Errorf("the page leaves the metric that was picked for %s", got)
	}
	page.eval(`document.querySelector("#regions li").click()`)
	if got := page.eval(metric); got != "credit_stall" {
		t.Errorf("a click on a region of credit stall shows %s", got)
	}
}

// The controls and the regions can be reached by the Tab key, and every region by the arrow keys; a region keeps
// the focus over an interval, and when it changes its place in the list.
func TestThePageByKeyboard(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	h.announce(busy(g, noon, hot(g, 1, schema.High, 0, 30), hot(g, 2, schema.Low, 60, 30)))
	page := browse(t, h.url+flat)
	page.await(shown)
	reached := map[string]bool{}
	for range 60 {
		page.press("Tab", 9)
		reached[page.eval(`document.activeElement.id || document.activeElement.dataset.key || document.activeElement.dataset.page || document.activeElement.tagName`)] = true
		if reached["1"] {
			break // the first region of the list has the focus
		}
	}
	for _, stop := range []string{"fabric", "jobs", "find", "theme", "metric", "least", "heat", "1"} {
		if !reached[stop] {
			t.Fatalf("the Tab key does not reach %q, only %v", stop, reached)
		}
	}
	page.press("ArrowDown", 40) // to the second region
	h.announce(busy(g, noon+second, hot(g, 3, schema.Medium, 100, 30), hot(g, 2, schema.High, 60, 40)))
	page.await(`document.getElementById("status").textContent.includes("22:13:22")`)
	if got := page.eval(`document.activeElement.dataset.key + ": " + document.activeElement.querySelector("small").textContent.slice(0, 4)`); got != "2: High" {
		t.Errorf("the focus is on %s", got)
	}
	if order := page.eval(listed); order != "High Medium" {
		t.Errorf("the regions are listed as %s", order)
	}
}

// On a fat tree the rows have names, and the headings give level and pod.
func TestLabelsOfAFatTree(t *testing.T) {
	const star = "fattree:leaves=8,hosts=8,spines=2"
	h := open(t, star, tree)
	page := browse(t, h.url)
	for spec, want := range map[string][]string{
		star: {"leaf", "spine", "leaf0", "leaf7", "leaf 0", "leaf 7", "spine1"},
		tree: {"core", "agg", "hosts", "pod 0", "pod 3", "agg3-1", "leaf2-1", "core3"},
	} {
		h.announce(busy(h.graph(spec), noon, hot(h.graph(spec), 1, schema.High, 3, 12)))
		page.visit(h.url + "/?fabric=" + url.QueryEscape(spec))
		page.await(shown)
		written := page.eval(`document.getElementById("heat").textContent`)
		for _, label := range want {
			if !strings.Contains(written+", ", label+", ") {
				t.Errorf("%s: the map does not say %q: %s", spec, label, written)
			}
		}
		picture(t, page)
		const above = `document.querySelector("#heat .flat").getBoundingClientRect().bottom <= document.getElementById("in").getBoundingClientRect().top`
		if page.eval(above) != "true" {
			t.Errorf("%s: the zoom buttons lie over the map", spec)
		}
		for y := 250; spec == tree && !strings.Contains(page.eval(tip), "(pod "); y += 5 {
			if page.move(200, y); y > 650 {
				t.Fatalf("%s: over no link does the page name a pod; it says %q", spec, page.eval(tip))
			}
		}
	}
}

// Managed switches of an InfiniBand subnet have their own names, and their levels the longest word of those. Switches
// without a name are distinguished by their GUIDs, and their levels have the usual words (leaf, spine, core).
func TestLabelsOfManagedSwitches(t *testing.T) {
	db, _ := database(t)
	b := topology.NewBuilder("ib0")
	managed := func(name string, level int8) topology.DeviceID {
		return b.Device(topology.Device{Name: "MF0;" + name + ":MQM9701/U1", Kind: topology.Switch, Level: level, Group: -1})
	}
	spines := []topology.DeviceID{managed("A10-SPINE-01", 2), managed("B10-SPINE-02", 2)}
	for n := range 2 {
		leaf := managed(fmt.Sprintf("A09-LEAF-%02d", n), 1)
		for k, spine := range spines {
			b.Both(topology.Link{From: leaf, To: spine, FromPort: fmt.Sprint(9 + k), ToPort: fmt.Sprint(n), Class: topology.ClassSwitch, CapacityBytesPerSecond: 1e9, Dim: -1})
		}
		core := b.Device(topology.Device{Name: fmt.Sprintf("Quantum Mellanox Technologies b00%d", n), Label: "Quantum Mellanox Technologies", Kind: topology.Switch, Level: 3, Group: -1})
		b.Both(topology.Link{From: spines[n], To: core, FromPort: "20", ToPort: "1", Class: topology.ClassSwitch, CapacityBytesPerSecond: 1e9, Dim: -1})
		b.Device(topology.Device{Name: fmt.Sprintf("spare%c", 'a'+n), Kind: topology.Switch, Level: 3, Group: -1})
		host := b.Device(topology.Device{Name: fmt.Sprintf("host%d", n), Kind: topology.Host, Group: -1})
		b.Both(topology.Link{From: host, To: leaf, FromPort: "1", ToPort: "1", Class: topology.ClassHost, CapacityBytesPerSecond: 1e9, Dim: -1})
	}
	checkLabels(t, db, b, "SPINE", "LEAF", "A10-SPINE-01", "A09-LEAF-01", "core", "Quantum b001")
}

// checkLabels checks that the map of a fabric has labels.
func checkLabels(t *testing.T, db *store.DB, b *topology.Builder, labels ...string) {
	t.Helper()
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	h := serveGraphs(t, db, g)
	h.announce(busy(g, noon))
	page := browse(t, h.url)
	page.await(shown)
	written := page.eval(`document.getElementById("heat").textContent`) + ", "
	for _, label := range labels {
		if !strings.Contains(written, label+", ") {
			t.Errorf("the map does not say %q: %s", label, written)
		}
	}
}

// The level of switches named like core0.example.com is core, not the domain that all of them have.
func TestLevelsOfSwitchesWithADomain(t *testing.T) {
	db, _ := database(t)
	b := topology.NewBuilder("ib0")
	leaf := b.Device(topology.Device{Name: "Pod0 Leaf R1", Kind: topology.Switch, Level: 1, Group: 0})
	for n := range 2 {
		core := b.Device(topology.Device{Name: fmt.Sprintf("core%d.example.com", n), Kind: topology.Switch, Level: 2, Group: -1})
		b.Both(topology.Link{From: leaf, To: core, FromPort: fmt.Sprint(9 + n), ToPort: "1", Class: topology.ClassSwitch, CapacityBytesPerSecond: 1e9, Dim: -1})
	}
	checkLabels(t, db, b, "core", "core1.example.com", "Leaf", "Pod0 Leaf R1")
}

// A level is not called what all switches of the fabric are: the site, or what they are for.
func TestLevelsOfSwitchesNamedAfterTheirSite(t *testing.T) {
	db, _ := database(t)
	b := topology.NewBuilder("ib0")
	for n := range 2 {
		leaf := b.Device(topology.Device{Name: fmt.Sprintf("frankfurt-prod-leaf-%02d", n), Kind: topology.Switch, Level: 1, Group: -1})
		spine := b.Device(topology.Device{Name: fmt.Sprintf("frankfurt-prod-spine-%02d", n), Kind: topology.Switch, Level: 2, Group: -1})
		b.Both(topology.Link{From: leaf, To: spine, FromPort: "9", ToPort: "1", Class: topology.ClassSwitch, CapacityBytesPerSecond: 1e9, Dim: -1})
	}
	checkLabels(t, db, b, "spine", "leaf", "frankfurt-prod-leaf-01")
}

// A level whose switches share no word, only a letter within a number (4036-86A2), has the usual word.
func TestLevelsWithoutAWord(t *testing.T) {
	db, _ := database(t)
	b := topology.NewBuilder("ib0")
	host := b.Device(topology.Device{Name: "host0", Kind: topology.Host, Group: -1})
	leaf := b.Device(topology.Device{Name: "4036-86A2", Kind: topology.Switch, Level: 1, Group: -1})
	b.Both(topology.Link{From: host, To: leaf, FromPort: "1", ToPort: "1", Class: topology.ClassHost, CapacityBytesPerSecond: 1e9, Dim: -1})
	checkLabels(t, db, b, "leaf")
}

// Another fabric is shown with its own graph, even if answers about the old one still come.
func TestChangingTheFabric(t *testing.T) {
	h := open(t, torus, tree)
	h.announce(busy(h.graph(torus), noon))
	h.announce(busy(h.graph(tree), noon))
	page := browse(t, h.url)
	page.await(shown)
	page.eval(`for (const name of ["fattree:k=4", "torus:4x4x4", "fattree:k=4"]) {
		document.getElementById("fabric").value = name;
		document.getElementById("fabric").dispatchEvent(new Event("change"));
	}`)
	page.await(`document.getElementById("heat").textContent.includes("leaf0-0")`)
	if facts := page.eval(`document.getElementById("facts").textContent`); !strings.Contains(facts, "hosts16") {
		t.Errorf("facts: %s", facts)
	}
}

// The region that is explained is one of the metric on the map as long as that has a region of the worst severity; if
// another metric is worse, the map changes to that.
func TestTheMapShowsWhatIsExplained(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	of := func(m schema.Metric, id uint64, severity schema.Severity, first int, mean float64) schema.Region {
		r := hot(g, id, severity, first, 20)
		r.Metric, r.Mean, r.Name = m, mean, fmt.Sprint(m, " ", severity)
		return r
	}
	h.announce(busy(g, noon, of(schema.InqStall, 2, schema.High, 60, 36)))
	page := browse(t, h.url+flat)
	page.await(shown)
	const both = `document.getElementById("metric").value + ": " + document.querySelector("#regions li.chosen b").textContent`
	for i, step := range []struct {
		regions []schema.Region
		want    string
	}{
		{[]schema.Region{of(schema.InqStall, 2, schema.High, 60, 36), of(schema.CreditStall, 1, schema.High, 0, 50)}, "inq_stall: inq_stall High"},
		{[]schema.Region{of(schema.InqStall, 2, schema.Low, 60, 7), of(schema.CreditStall, 1, schema.High, 0, 50)}, "credit_stall: credit_stall High"},
	} {
		h.announce(busy(g, noon+int64(i+1)*second, step.regions...))
		page.await(fmt.Sprintf(`document.getElementById("status").textContent.includes("22:13:2%d")`, i+2))
		if got := page.eval(both); got != step.want {
			t.Errorf("step %d: the page has %q, want %q", i, got, step.want)
		}
	}
}

// Of a pause that is counted at both ends the map shows the end whose region is listed.
func TestTheMapShowsTheEndThatIsListed(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	received, sent := schema.PFCPauseRx(3), schema.PFCPauseTx(3)
	of := func(m schema.Metric, id uint64) schema.Region {
		r := hot(g, id, schema.High, 0, 20)
		r.Metric, r.Name = m, "both ends"
		return r
	}
	interval := func(start int64, regions ...schema.Region) *schema.IntervalResult {
		r := busy(g, start)
		for i, m := range []schema.Metric{sent, received} {
			r.Snapshot.Series[i].Metric = m
		}
		r.Snapshot.Series = r.Snapshot.Series[:2]
		r.Regions, r.Hot = regions, nil
		r.States = schema.NetworkStates(r.Snapshot, regions)
		return r
	}
	h.announce(interval(noon))
	page := browse(t, h.url+flat)
	page.await(shown)
	for i, means := range [][2]float64{{40, 36}, {36, 40}} { // of what was sent and received: they take turns
		regions := []schema.Region{of(sent, 1), of(received, 2)}
		regions[0].Mean, regions[1].Mean = means[0], means[1]
		h.announce(interval(noon+int64(i+1)*second, regions...))
		page.await(fmt.Sprintf(`document.getElementById("status").textContent.includes("22:13:2%d")`, i+2))
		if got := page.eval(`document.getElementById("metric").value + " " + document.querySelectorAll("#regions li").length`); got != received.String()+" 1" {
			t.Errorf("with means of %v the map and the list have %s", means, got)
		}
	}
}

// The root that a diagnosis names is marked at its port's link, as a region's root is, and not at the switch.
func TestTheMapMarksTheRootOfADiagnosis(t *testing.T) {
	h := open(t, tree)
	g := h.graph(tree)
	day := func(start int64, link schema.LinkID) *schema.IntervalResult {
		region := hot(g, 1, schema.Low, 0, 8)
		r := busy(g, start, region)
		r.Diagnoses = []schema.Diagnosis{{Fabric: tree, Time: schema.Instant(start), Region: 1, Metric: region.Metric, Severity: region.Severity, Links: region.Links,
			Root: &schema.Root{Device: "leaf0-0", Link: link, Kind: schema.RootIncast}}}
		return r
	}
	page := browse(t, h.url+"/?layout=tiers")
	var drawn []string
	for i, link := range []schema.LinkID{schema.NoLink, schema.NoLink, 0} {
		h.announce(day(noon+int64(i)*second, link))
		page.await(fmt.Sprintf(`document.documentElement.dataset.shown?.includes("22:13:2%d")`, i))
		drawn = append(drawn, page.eval(`document.querySelector("#heat canvas").toDataURL()`))
	}
	if drawn[0] != drawn[1] {
		t.Error("two intervals that are alike are drawn differently")
	}
	if drawn[0] == drawn[2] {
		t.Error("the mark is where it is without the link")
	}
}
