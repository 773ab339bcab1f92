//go:build integration

package dashboards

import (
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

const top = `((id) => document.getElementById(id).getBoundingClientRect().top)`

// On a phone the state of the network is above the map, and nothing is wider than the screen.
func TestTheStateComesFirstOnAPhone(t *testing.T) {
	h := open(t, tree)
	g := h.graph(tree)
	h.announce(busy(g, noon, hot(g, 1, schema.High, 0, 12)))
	page := browse(t, h.url)
	page.resize(390, 844)
	page.await(shown)
	for _, order := range []string{`("severity") < ` + top + `("stage")`, `("stage") < ` + top + `("strip")`, `("strip") < ` + top + `("regions")`} {
		if page.eval(top+order) != "true" {
			t.Errorf("on a phone it is not so that %s%s", top, order)
		}
	}
	if got := page.eval(`document.documentElement.scrollWidth`); got != "390" {
		t.Errorf("the page is %s pixels wide on a phone of 390", got)
	}
}

// On paper, from a dark page too, letters are dark, nothing is cut off, and there are no buttons.
func TestThePageOnPaper(t *testing.T) {
	h := open(t, tree)
	g := h.graph(tree)
	h.announce(busy(g, noon, hot(g, 1, schema.High, 0, 12)))
	page := browse(t, h.url)
	page.await(shown)
	page.eval(`document.documentElement.classList.remove("light")`)
	page.call("Emulation.setEmulatedMedia", map[string]any{"media": "print"}, nil)
	if ink := page.eval(`getComputedStyle(document.getElementById("regions")).color`); ink != "rgb(23, 33, 43)" {
		t.Errorf("letters are printed in %s", ink)
	}
	if hidden := page.eval(`[...document.querySelectorAll("main section, aside")].filter((e) => getComputedStyle(e).overflowY === "auto" && e.scrollHeight > e.clientHeight).map((e) => e.id).join()`); hidden != "" {
		t.Errorf("of %s a part is not printed", hidden)
	}
	if buttons := page.eval(`[...document.querySelectorAll("main > section > div button, #theme, #share, nav a")].filter((e) => e.checkVisibility()).map((e) => e.textContent).join()`); buttons != "" {
		t.Errorf("buttons are printed: %s", buttons)
	}
}

// An address of a fabric that is not there does not show another one's picture.
func TestAnAddressOfNoFabric(t *testing.T) {
	h := open(t, torus, tree)
	for _, spec := range []string{torus, tree} {
		h.announce(busy(h.graph(spec), noon))
	}
	page := browse(t, h.url+"/?fabric=retired&layout=planes&page=jobs")
	page.await(`document.getElementById("notice").textContent.includes("No fabric retired")`)
	if state := page.eval(`document.getElementById("severity").textContent + document.getElementById("fabric").value`); state != "" {
		t.Errorf("for a fabric that is not there the page shows %s", state)
	}
	page.eval(`(() => { const s = document.getElementById("fabric"); s.value = ` + `"` + torus + `"` + `; s.dispatchEvent(new Event("change")); })()`)
	page.await(shown)
	if address := page.eval(`location.search`); !strings.Contains(address, url.QueryEscape(torus)) {
		t.Errorf("a chosen fabric has the address %s", address)
	}
}

// A network without regions is calm, but not silent about links that stall.
func TestCalmWithHotLinks(t *testing.T) {
	h := open(t, tree)
	g := h.graph(tree)
	h.announce(busy(g, noon))
	page := browse(t, h.url)
	page.await(shown)
	if state := page.eval(`document.getElementById("severity").textContent`); !strings.HasPrefix(state, "calm") || !strings.HasSuffix(state, "but 2 hot links") {
		t.Errorf("the state is %q", state)
	}
	quiet := busy(g, noon+second)
	quiet.Hot = nil
	h.announce(quiet)
	page.await(`document.getElementById("severity").textContent.startsWith("calm") && !document.getElementById("severity").textContent.includes("hot")`)
	h.announce(busy(g, noon+2*second, hot(g, 1, schema.Low, 0, 12)))
	page.eval(`(() => { const s = document.getElementById("least"); s.value = "High"; s.dispatchEvent(new Event("change")); })()`)
	page.await(`document.getElementById("severity").textContent.startsWith("Low congestion") && document.querySelector("#regions .none") !== null`) // a region that is not listed
	if state := page.eval(`document.getElementById("severity").textContent`); strings.Contains(state, "hot") {
		t.Errorf("with a region that is not listed the state is %q", state)
	}
}

// The axis of a plot of some minutes has several instants inside it, with their times.
func TestAnAxisOfFourMinutes(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	for i := range int64(4) {
		h.announce(busy(g, noon+i*80*second, hot(g, 1, schema.High, 0, 12))) // 22:13:20 to 22:17:20
	}
	page := browse(t, h.url+flat)
	page.await(shown)
	page.eval(`(() => { window.written = []; const write = CanvasRenderingContext2D.prototype.fillText; CanvasRenderingContext2D.prototype.fillText = function (text, ...at) { if (this.canvas.closest("#picked")) window.written.push(text); return write.call(this, text, ...at); }; })()`)
	page.eval(`document.querySelector("#hot button").click()`)
	page.await(`document.querySelector("#picked canvas") !== null && window.written.length > 0`)
	if texts := page.eval(`window.written.join(" ")`); strings.Contains(texts, "11-14") || !strings.Contains(texts, "22:15") || !strings.Contains(texts, "22:16") {
		t.Errorf("the axes of a link's plot are labelled %s", texts)
	}
}

// Nodes with the same reason share its cell; the reason has the page's words.
func TestAReasonIsWrittenOnce(t *testing.T) {
	h := open(t, tree)
	g := h.graph(tree)
	h.announce(busy(g, noon, hot(g, 1, schema.High, 0, 12)))
	page := browse(t, h.url+"/?page=hosts")
	page.await(`document.querySelector(".scores td") !== null`)
	reasons := page.eval(`[...document.querySelectorAll(".scores tbody td[rowspan]")].map((e) => e.textContent).join("\n")`)
	lines := strings.Split(reasons, "\n")
	for i := 1; i < len(lines); i++ {
		if lines[i] == lines[i-1] {
			t.Errorf("a reason is written twice: %s", lines[i])
		}
	}
	if rows := page.eval(`[...document.querySelectorAll(".scores tbody td[rowspan]")].reduce((sum, e) => sum + e.rowSpan, 0) - document.querySelectorAll(".scores tbody tr").length`); rows != "0" {
		t.Errorf("the cells of reasons span %s rows more than there are", rows)
	}
	if !strings.Contains(reasons, "credit stall") || strings.Contains(reasons, "credit_stall") {
		t.Errorf("the reasons are: %s", reasons)
	}
}

// Few blocks of a matrix are beside each other where that makes them larger; columns have numbers; of a large one the titles are legible.
func TestMatricesUseTheirRoom(t *testing.T) {
	const star, large = "fattree:leaves=8,hosts=8,spines=4", "fattree:leaves=200,hosts=20,spines=100"
	h := open(t, star, large)
	for _, spec := range []string{star, large} {
		h.announce(busy(h.graph(spec), noon))
	}
	page := browse(t, h.url+"/?layout=matrix&fabric="+url.QueryEscape(star))
	page.await(shown)
	written := page.eval(`document.getElementById("heat").textContent`)
	if heads := "0, 1, 2, 3, leaf by its hosts"; !strings.Contains(written, heads) {
		t.Errorf("the matrix does not say %q: %s", heads, written)
	}
	page.visit(h.url + "/?layout=matrix&fabric=" + url.QueryEscape(large))
	page.await(shown)
	if written := page.eval(`document.getElementById("heat").textContent`); strings.Count(written, "leaf by spine")+strings.Count(written, "leaf \u00d7 spine") < 2 { // one is in the summary
		t.Errorf("a large matrix has no title: %s", written)
	}
}

// Of many regions the page says how many there are, and why the worst is there is in sight.
func TestAHundredRegions(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	var regions []schema.Region
	for i := range 100 {
		regions = append(regions, hot(g, uint64(i+1), []schema.Severity{schema.Low, schema.High}[i%2], i, 2))
	}
	h.announce(busy(g, noon, regions...))
	page := browse(t, h.url+flat)
	page.await(shown)
	if n := page.eval(`document.querySelectorAll("#regions li").length + ": " + document.getElementById("counted").textContent`); n != "100: 50 High, 50 Low" {
		t.Errorf("the page lists %s", n)
	}
	const inSight = `document.getElementById("verdict").getBoundingClientRect().top < innerHeight - 60`
	if page.eval(inSight) != "true" {
		t.Error("why the worst region is there is out of sight")
	}
	page.eval(`document.querySelector("#regions li:last-child").focus()`)
	page.press("Enter", 13)
	page.await(`document.querySelector("#regions li:last-child").classList.contains("chosen")`)
	picture(t, page)
}

// What is selected is named at its mark, where the map has no room for the names of all.
func TestTheSelectedIsNamedOnTheMap(t *testing.T) {
	h := open(t, tree, torus)
	for spec, address := range map[string]string{tree: "&select=device%3Ahost0", torus: "&layout=space&select=device%3A1,1,1"} {
		h.announce(busy(h.graph(spec), noon))
		page := browse(t, "about:blank")
		page.call("Page.enable", nil, nil)
		page.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `window.written = []; const write = CanvasRenderingContext2D.prototype.fillText; CanvasRenderingContext2D.prototype.fillText = function (text, ...at) { window.written.push(text); return write.call(this, text, ...at); };`}, nil)
		page.visit(h.url + "/?fabric=" + url.QueryEscape(spec) + address)
		page.await(shown)
		name := map[string]string{tree: "host0", torus: "1,1,1"}[spec]
		page.await(fmt.Sprintf(`window.written.includes(%q)`, name))
		picture(t, page)
	}
}

// An address that was cut or changed by hand still shows the fabric, and of an instant what is wrong with it.
func TestMangledAddresses(t *testing.T) {
	h := open(t, tree)
	h.announce(busy(h.graph(tree), noon))
	page := browse(t, h.url)
	for _, mangled := range []string{"select=link%3A-1", "select=link%3A1.5", "select=link%3A999999", "select=device%3Anone", "span=-5", "span=x", "until=2023-11-1", "until=x", "compare=x", "least=medium", "metric=x", "layout=x", "job=%25", "page=x"} {
		page.visit(h.url + "/?" + mangled)
		page.await(shown)
		if page.eval(`document.getElementById("notice").hidden`) != "true" {
			t.Errorf("%s: the page says %s", mangled, page.eval(`document.getElementById("notice").textContent`))
		}
	}
	page.visit(h.url + "/?at=1970-01-01T00:00:00Z")
	page.await(`document.getElementById("notice").textContent.startsWith("Nothing stored at that time")`)
	page.visit(h.url + "/?at=2023-11-14T22%3A")
	page.await(`document.getElementById("notice").textContent.includes("want RFC 3339")`)
	page.errors = nil // of the request for that instant
}

// saved is the drawing of the map as SVG.
func saved(page *tab) string {
	page.t.Helper()
	page.eval(`URL.createObjectURL = (b) => { void b.text().then((text) => { window.saved = text; }); return "#"; }`)
	page.eval(`[...document.querySelectorAll("#sharing button")].find((b) => b.textContent === "Save as SVG").click()`)
	page.await(`window.saved !== undefined`)
	return page.eval(`window.saved`)
}

// The links between two switches of a level lead from side to side, not through both.
func TestLinksBetweenSwitchesOfALevel(t *testing.T) {
	db, _ := database(t)
	b := topology.NewBuilder("ib0")
	one, two := b.Device(topology.Device{Name: "sw1", Kind: topology.Switch, Level: 1, Group: -1}), b.Device(topology.Device{Name: "sw2", Kind: topology.Switch, Level: 1, Group: -1})
	b.Both(topology.Link{From: one, To: two, FromPort: "1", ToPort: "1", Class: topology.ClassSwitch, CapacityBytesPerSecond: 1e9, Dim: -1})
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	h := serveGraphs(t, db, g)
	h.announce(busy(g, noon))
	page := browse(t, h.url)
	page.await(shown)
	lines := regexp.MustCompile(`<line x1="([0-9.]+)" y1="([0-9.]+)" x2="([0-9.]+)" y2="([0-9.]+)"`).FindAllStringSubmatch(saved(page), -1)
	if len(lines) != 2 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, l := range lines {
		if l[2] != l[4] || l[1] == l[3] {
			t.Errorf("a link from %s, %s to %s, %s", l[1], l[2], l[3], l[4])
		}
	}
	if lines[0][2] == lines[1][2] {
		t.Error("the two directions lie upon each other")
	}
}

// A dragonfly uses the shape of the window: in a wide one its groups are larger, and none lies upon another.
func TestADragonflyUsesItsRoom(t *testing.T) {
	const spec = "dragonfly:groups=17,routers=4,hosts=2"
	h := open(t, spec)
	h.announce(busy(h.graph(spec), noon))
	page := browse(t, "about:blank")
	for _, size := range [][2]int{{1440, 900}, {2560, 1100}, {420, 900}} {
		page.resize(size[0], size[1])
		page.visit(h.url + "/?fabric=" + url.QueryEscape(spec) + "&width=" + fmt.Sprint(size[0]))
		page.await(shown)
		picture := saved(page)
		shape := regexp.MustCompile(`viewBox="0 0 ([0-9.]+) ([0-9.]+)"`).FindStringSubmatch(picture)
		number := func(text string) float64 { v, _ := strconv.ParseFloat(text, 64); return v }
		var frames [][4]float64
		for _, r := range regexp.MustCompile(`<rect x="([0-9.]+)" y="([0-9.]+)" width="([0-9.]+)" height="([0-9.]+)" fill="[^"]+" stroke=`).FindAllStringSubmatch(picture, -1) {
			frames = append(frames, [4]float64{number(r[1]), number(r[2]), number(r[3]), number(r[4])})
		}
		if len(frames) != 17 {
			t.Fatalf("%d groups", len(frames))
		}
		for i, a := range frames {
			for _, b := range frames[:i] {
				if math.Abs(a[0]-b[0]) < a[2] && math.Abs(a[1]-b[1]) < a[3] {
					t.Errorf("%v: groups lie upon each other: %v and %v", size, a, b)
				}
			}
		}
		room := number(page.eval(`String(document.getElementById("heat").clientWidth / document.getElementById("heat").clientHeight)`))
		if is := number(shape[1]) / number(shape[2]); math.Abs(is/max(.6, min(2.6, room))-1) > .25 {
			t.Errorf("%v: a drawing %.2f times as wide as tall has a room that is %.2f times", size, is, room)
		}
	}
}
