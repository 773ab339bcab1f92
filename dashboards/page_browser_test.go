//go:build integration

package dashboards

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/test/repo"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// The page shows what its address says: fabric, layout, metric, instant, selection. The Back button goes back.
func TestTheAddressHoldsTheView(t *testing.T) {
	h := open(t, torus, tree)
	for _, spec := range []string{torus, tree} {
		g := h.graph(spec)
		h.announce(busy(g, noon-second, hot(g, 1, schema.Low, 0, 12)))
		h.announce(busy(g, noon, hot(g, 1, schema.High, 0, 12)))
	}
	page := browse(t, h.url+"/?fabric="+url.QueryEscape(tree)+"&layout=matrix&metric=inq_stall&select=device%3Aleaf0-0&at=2023-11-14T22:13:19Z")
	page.await(shown)
	const at = `[document.getElementById("fabric").value, document.getElementById("heat").dataset.layout, document.getElementById("metric").value, document.querySelector("#picked h3").textContent, document.getElementById("status").textContent].join(" | ")`
	if got, want := page.eval(at), tree+" | matrix | inq_stall | leaf0-0 | 2023-11-14 22:13:19 UTC, the past"; got != want {
		t.Errorf("the address shows %s, want %s", got, want)
	}
	page.eval(`document.querySelector("#layouts [data-name=tiers]").click()`)
	page.await(`document.getElementById("heat").dataset.layout === "tiers" && location.search.includes("layout=tiers")`)
	page.eval(`history.back()`)
	page.await(`document.getElementById("heat").dataset.layout === "matrix"`)
	page.visit(h.url + "/?fabric=" + url.QueryEscape(tree) + "&layout=path&from=host0&to=host15")
	page.await(`document.getElementById("heat").textContent.includes("shortest paths from host0 to host15")`)
	page.visit(h.url + "/?fabric=" + url.QueryEscape(tree) + "&layout=path&from=host0&to=host999")
	page.await(`document.getElementById("notice").textContent.includes("no host or switch host999")`)
	page.eval(`document.getElementById("find").value = "core3"; document.getElementById("find").dispatchEvent(new Event("input"))`)
	page.press("Tab", 9)
	if hit := page.eval(`document.querySelector("#found li").textContent`); !strings.HasPrefix(hit, "core3") {
		t.Errorf("a search for core3 finds %s", hit)
	}
}

// The strip reaches each stored instant, by the keyboard too; two instants are compared; L returns to the present.
func TestThePast(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	for i := range int64(4) {
		h.announce(busy(g, noon+i*second, hot(g, 1, schema.Severity(min(i, 3)), 0, 10+10*int(i))))
	}
	page := browse(t, h.url+"/?layout=planes")
	page.await(shown)
	page.eval(`document.getElementById("strip").focus()`)
	page.press("Home", 36)
	page.await(`document.getElementById("status").textContent.includes("22:13:20 UTC, the past")`)
	page.press("ArrowRight", 39)
	page.await(`document.getElementById("status").textContent.includes("22:13:21 UTC, the past") && document.querySelector("#regions small").textContent.startsWith("Low")`)
	page.eval(`[...document.querySelectorAll("#controls button")].find((b) => b.textContent === "Compare").click()`)
	page.press("End", 35)
	page.await(`!document.getElementById("compared").hidden && document.getElementById("changes").innerText.includes("High")`)
	if text := page.eval(`document.getElementById("changes").innerText`); !strings.Contains(text, "Low, 20 links") || !strings.Contains(text, "High, 40 links") {
		t.Errorf("the comparison says %s", text)
	}
	if unit := page.eval(`document.getElementById("unit").textContent`); !strings.HasPrefix(unit, "change") {
		t.Errorf("the legend of a comparison says %s", unit)
	}
	page.visit(h.url + "/?layout=planes&at=2023-11-14T22:13:21Z&compare=2023-11-14T22:13:23Z") // the other way round: what became more is drawn so, too
	page.await(shown + ` && !document.getElementById("compared").hidden`)
	if got := page.eval(`[...document.querySelectorAll("#changes th")].map((e) => e.textContent).join()`); got != "region,22:13:21,22:13:23" {
		t.Errorf("the comparison is of %s", got)
	}
	more, less := 0, 0
	for _, fill := range regexp.MustCompile(`fill="rgb\((\d+),\d+,(\d+)\)"`).FindAllStringSubmatch(saved(page), -1) {
		red, _ := strconv.Atoi(fill[1])
		blue, _ := strconv.Atoi(fill[2])
		if red > blue+80 {
			more++
		} else if blue > red+80 {
			less++
		}
	}
	if more < 30 || less > 0 {
		t.Errorf("%d links are drawn as more, %d as less", more, less)
	}
	page.eval(`document.getElementById("least").focus()`)
	page.press("l", 76)
	if address := page.eval(`location.search`); !strings.Contains(address, "at=") {
		t.Errorf("an L that is for a list of choices leads to %s", address)
	}
	page.eval(`document.activeElement.blur()`)
	page.press("l", 76)
	page.await(`!location.search.includes("at=")`)
	h.announce(busy(g, noon+9*second, hot(g, 1, schema.High, 0, 10)))
	page.await(`document.getElementById("status").textContent.includes("22:13:30 UTC")`)
}

// A step into the past goes on from the instant that was asked for, not from the one that is still shown meanwhile.
func TestStepsBeforeThePastIsLoaded(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	for i := range int64(4) {
		h.announce(busy(g, noon+i*second))
	}
	page := browse(t, h.url+flat)
	page.await(shown)
	page.eval(`(() => { const ask = window.fetch, held = new Promise((go) => { window.release = go; }); window.fetch = async (...what) => { await held; return ask(...what); }; })()`)
	page.eval(`document.getElementById("strip").focus()`)
	page.press("Home", 36)
	page.press("ArrowRight", 39)
	if hint := page.eval(`document.querySelector("#controls .hint").textContent`); hint != "loading" {
		t.Errorf("while an instant is loaded the page says %q", hint)
	}
	page.eval(`window.release()`)
	page.await(`document.getElementById("status").textContent.includes("22:13:21 UTC, the past") && document.querySelector("#controls .hint").textContent !== "loading"`)
}

// Late readings make another revision of a past interval, which the page shows when it goes back there later.
func TestThePastIsRevised(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	h.announce(busy(g, noon, hot(g, 1, schema.Low, 0, 10)))
	h.announce(busy(g, noon+second, hot(g, 1, schema.Medium, 0, 20)))
	page := browse(t, h.url+flat)
	page.await(shown)
	page.eval(`document.getElementById("strip").focus()`)
	const past = `document.getElementById("status").textContent.includes("22:13:2%d UTC, the past") && document.querySelector("#regions small").textContent.startsWith("%s")`
	page.press("Home", 36)
	page.await(fmt.Sprintf(past, 0, "Low"))
	revised := busy(g, noon, hot(g, 1, schema.High, 0, 10))
	revised.Revision = 1
	h.store(g, revised)
	page.press("ArrowRight", 39)
	page.await(fmt.Sprintf(past, 1, "Medium"))
	page.eval(`const now = Date.now; Date.now = () => now() + 61_000`)
	page.press("ArrowLeft", 37)
	page.await(fmt.Sprintf(past, 0, "High"))
}

// axe-core finds no fault, in both themes.
func TestAccessibility(t *testing.T) {
	axe, err := os.ReadFile(filepath.Join(repo.Dir(t), ".deps", "axe", "axe.min.js"))
	if err != nil {
		t.Fatalf("%v; fetch it with: make deps-test", err)
	}
	h := open(t, torus)
	h.announce(hostileDay(h.graph(torus)))
	page := browse(t, h.url+"/?layout=planes&select=link%3A3")
	page.await(shown)
	for _, theme := range []string{"dark", "light"} {
		page.eval(fmt.Sprintf(`if (document.documentElement.classList.contains("light") !== (%q === "light")) document.getElementById("theme").click()`, theme))
		checkAccessible(t, page, string(axe), theme)
	}
	picture(t, page)
}

// checkAccessible has axe-core, whose source is given, look at the page.
func checkAccessible(t *testing.T, page *tab, axe, what string) {
	t.Helper()
	page.eval(axe)
	page.eval(`window.found = ""; axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] }).then((r) => { window.found = JSON.stringify(r.violations.map((v) => [v.id, v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + n.failureSummary)])); })`)
	page.await(`window.found !== ""`)
	var violations []any
	if err := json.Unmarshal([]byte(page.eval(`window.found`)), &violations); err != nil || len(violations) > 0 {
		t.Errorf("%s: %v %v", what, violations, err)
	}
}

// A tab that stays open does not grow by more than 30 kB an interval.
func TestATabLeftOpen(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	h.announce(busy(g, noon, hot(g, 1, schema.High, 0, 30)))
	page := browse(t, h.url+"/?layout=space")
	page.resize(640, 420) // without a GPU, drawing time grows with the pixels
	page.await(shown)
	follow := func(from, n int64) float64 {
		for i := from; i < from+n; i++ {
			painted := page.eval(`document.querySelector("[data-painted]").dataset.painted`)
			if err := h.Put(t.Context(), busy(g, noon+i*second)); err != nil { // announced; the page asks for the newest again
				t.Fatal(err)
			}
			page.await(fmt.Sprintf(`document.querySelector("[data-painted]").dataset.painted !== %q`, painted))
		}
		return page.heap()
	}
	before := follow(1, 8)
	after := follow(9, 16)
	t.Logf("%.2f MB after 8 intervals, %.2f MB after 24", before/1e6, after/1e6)
	if after > before+16*30_000 {
		t.Errorf("the page grew from %.0f to %.0f bytes in 16 intervals", before, after)
	}
}

// In a narrow window the strip of time keeps room for its bars, and the page is no wider than the window: 305 pixels are left of 320
// beside a scroll bar.
func TestTheStripInANarrowWindow(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	h.fillHistory(g)
	h.store(g, busy(g, noon, regionsOf(g)...))
	page := browse(t, h.url+flat)
	for _, width := range []int{305, 390, 820, 920, 1000, 1200} {
		page.resize(width, windowHeight)
		page.await(shown)
		if height := page.eval(`Math.round(document.getElementById("strip").getBoundingClientRect().height) >= 60 && Math.round(document.querySelector("#strip canvas").getBoundingClientRect().height) >= 60`); height != "true" {
			t.Errorf("%d pixels: the strip of time has no room: %s", width, page.eval(`String(document.getElementById("strip").getBoundingClientRect().height)`))
		}
		if page.eval(`document.documentElement.scrollWidth <= innerWidth`) != "true" {
			t.Errorf("%d pixels: the page is wider than its window", width)
		}
		if out := page.eval(`[...document.querySelectorAll("header > *, #controls > *")].filter((e) => e.getBoundingClientRect().right > e.parentElement.getBoundingClientRect().right || e.id === "rce" && e.scrollWidth > e.clientWidth).map((e) => e.id || e.textContent).join()`); out != "" {
			t.Errorf("%d pixels: cut off or over its neighbour: %s", width, out)
		}
	}
}

// What is found by name is in view, also in a narrow window, where it is below the map.
func TestWhatIsFoundIsInView(t *testing.T) {
	h := open(t, tree)
	g := h.graph(tree)
	h.store(g, busy(g, noon, regionsOf(g)...))
	page := browse(t, h.url)
	for _, width := range []int{390, 1280} {
		page.resize(width, windowHeight)
		page.await(shown)
		page.eval(`scrollTo(0, 0); document.getElementById("find").value = "leaf0-0"; document.getElementById("find").dispatchEvent(new Event("input")); document.getElementById("find").dispatchEvent(new KeyboardEvent("keydown", {key: "Enter"}))`)
		page.await(`document.querySelector("#picked h3")?.textContent === "leaf0-0"`)
		page.await(`(() => { const r = document.querySelector("#picked h3").getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight; })()`)
	}
}

// In a narrow window the torus's coordinates are written in full beside it, nothing over the margins.
func TestTheTorusInANarrowWindow(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	h.store(g, busy(g, noon))
	page := browse(t, h.url+"/?layout=space")
	page.resize(390, 844)
	page.await(shown)
	page.await(`(() => {
		const c = document.querySelector("canvas.overlay"), d = c.getContext("2d"), free = (x, w) => d.getImageData(x, 0, w, c.height - 40).data.every((v) => v === 0);
		return c.width === 390 && !free(0, c.width) && free(0, 6) && free(c.width - 6, 6);
	})()`)
}

// A torus is drawn again when the graphics driver was reset: without its links it would look calm.
func TestTheTorusAfterAResetOfTheDriver(t *testing.T) {
	h := open(t, torus)
	h.store(h.graph(torus), busy(h.graph(torus), noon))
	page := browse(t, h.url+"/?layout=space")
	page.resize(640, 420)
	page.await(shown)
	page.eval(`(async () => {
		const c = document.querySelector(".torus canvas"), driver = c.getContext("webgl2").getExtension("WEBGL_lose_context"), rest = (ms) => new Promise((go) => setTimeout(go, ms));
		for (let before = ""; before !== c.parentElement.dataset.painted; await rest(500)) before = c.parentElement.dataset.painted;
		const back = new Promise((go) => c.addEventListener("webglcontextrestored", go));
		c.addEventListener("webglcontextlost", () => setTimeout(() => driver.restoreContext()));
		driver.loseContext();
		await back;
		await rest(300);
		const copy = document.createElement("canvas"), d = copy.getContext("2d");
		copy.width = c.width;
		copy.height = c.height;
		d.drawImage(c, 0, 0);
		window.colours = String(new Set(new Uint32Array(d.getImageData(0, 0, c.width, c.height).data.buffer)).size);
	})()`)
	page.await(`window.colours !== undefined`)
	if n := page.eval(`window.colours`); len(n) < 2 {
		t.Errorf("after the reset the torus has %s colours", n)
	}
}

// openInAPause serves a torus that has a congestion event but, for the last 18 s, no High region.
func openInAPause(t *testing.T) (*house, *topology.Graph) {
	t.Helper()
	h := open(t, torus)
	g := h.graph(torus)
	r := busy(g, noon)
	r.Congestion.EndNanos = noon + second - 18*second
	h.store(g, r)
	return h, g
}

// A congestion event lasts over pauses of some minutes: while nothing is High, the page says since when.
func TestACongestionEventInAPause(t *testing.T) {
	h, _ := openInAPause(t)
	page := browse(t, h.url+flat)
	page.await(shown)
	if got := page.eval(`document.getElementById("rce").textContent`); got != "Congestion event, High 18 s ago" {
		t.Errorf("the page says %q", got)
	}
}

// The congestion event is shown above every page and is updated with each interval there too.
func TestACongestionEventAboveEveryPage(t *testing.T) {
	h, g := openInAPause(t)
	page := browse(t, h.url+"/?page=jobs")
	page.await(`document.getElementById("rce").textContent === "Congestion event, High 18 s ago"`)
	calm := busy(g, noon+second)
	calm.Congestion = nil
	h.announce(calm)
	page.await(`document.getElementById("rce").hidden`)
}

// On a phone the reasons fit beside the scores, even if nodes have long names that cannot be broken; a wide window has room for names.
func TestScoresOnAPhone(t *testing.T) {
	b := topology.NewBuilder("long")
	leaf := b.Device(topology.Device{Name: "leaf", Kind: topology.Switch, Level: 1})
	for n := range 12 {
		host := b.Device(topology.Device{Name: fmt.Sprint("gpunode", n, strings.Repeat("abcdefgh", 9)), Kind: topology.Host})
		b.Both(topology.Link{From: host, To: leaf, FromPort: "1", ToPort: fmt.Sprint(n), Class: topology.ClassHost, CapacityBytesPerSecond: 1e9, Dim: -1})
	}
	long, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []*topology.Graph{parse(t, tree), long} {
		db, _ := database(t)
		h := serveGraphs(t, db, g)
		h.announce(busy(g, noon, hot(g, 1, schema.High, 0, 12)))
		page := browse(t, h.url+"/?page=hosts")
		page.resize(390, 844)
		page.await(`document.querySelector(".scores td") !== null`)
		if got := page.eval(`(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector(".scores"))`); got != "true" {
			t.Errorf("%s: the table of scores is wider than a phone", g.Fabric())
		}
		if why := page.eval(`document.querySelector(".scores td:last-child").clientWidth > 90`); why != "true" {
			t.Errorf("%s: the reasons have no room", g.Fabric())
		}
		page.resize(1600, 1000)
		if name := page.eval(`document.querySelector(".scores td").clientWidth > 100`); name != "true" {
			t.Errorf("%s: in a wide window names of ten characters are broken", g.Fabric())
		}
	}
}

// A percent axis has room for "100%".
func TestTheAxisOfALinkHasRoomForItsTexts(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	for i := range int64(3) {
		h.announce(busy(g, noon+i*second, hot(g, 1, schema.High, 0, 12)))
	}
	page := browse(t, h.url+"/?select=link%3A0")
	page.await(shown)
	page.await(`document.querySelector("#picked .u-over") !== null`)
	const fits = `(() => { const c = document.createElement("canvas").getContext("2d"), ticksAndGap = 15; c.font = "11px system-ui, sans-serif";
		const room = parseFloat(document.querySelector("#picked .u-over").style.left) - ticksAndGap, text = c.measureText("100%").width;
		return room >= text ? "all" : room + " of " + text + " pixels" })()`
	if got := page.eval(fits); got != "all" {
		t.Errorf("of a text of the axis %s are shown", got)
	}
}

// No forecast is shown as certain, though the API may round it to 1.
func TestAForecastIsNeverCertain(t *testing.T) {
	h := open(t, torus)
	region := hot(h.graph(torus), 1, schema.High, 0, 12)
	region.Forecast.Next = schema.Odds{schema.High: 1}
	h.announce(busy(h.graph(torus), noon, region))
	page := browse(t, h.url)
	page.await(shown)
	if got := page.eval(`document.querySelector("#regions .forecast").textContent`); !strings.Contains(got, "High >99%") || strings.Contains(got, "100%") {
		t.Errorf("the forecast says %q", got)
	}
}

// On a fabric of ten thousand hosts the names of pods stay within their frames, the word at a root does not cover the
// next root, and the matrix fills the picture.
func TestAMapOfTenThousandHosts(t *testing.T) {
	const spec = "fattree:k=36"
	h := open(t, spec)
	g := h.graph(spec)
	var regions []schema.Region
	for i, root := range []string{"host100", "host110", "host5000"} {
		r := hot(g, uint64(1+i), schema.High, g.NumLinks()/2+40*i, 40)
		r.Root = &schema.Root{Link: schema.NoLink, Device: root}
		regions = append(regions, r)
	}
	h.announce(busy(g, noon, regions...))
	page := browse(t, "about:blank")
	page.resize(1600, 1000)
	page.visit(h.url)
	page.await(shown)
	page.eval(`(() => {
		window.names = new Map(); window.cells = [Infinity, 0]; window.roots = new Set();
		const text = CanvasRenderingContext2D.prototype.fillText, rect = CanvasRenderingContext2D.prototype.fillRect;
		CanvasRenderingContext2D.prototype.fillText = function (t, x, y) { if (/^(pod )?\d+$/.test(t)) names.set(t.replace("pod ", ""), [x, x + this.measureText(t).width]); if (t === "root") { const paint = document.querySelector("[data-painted]").dataset.painted; if (paint !== window.paint) { window.paint = paint; roots = new Set(); } roots.add(x); } text.call(this, t, x, y); };
		CanvasRenderingContext2D.prototype.fillRect = function (x, y, w, h) { if (!this.canvas.isConnected && w < 50) cells = [Math.min(cells[0], x), Math.max(cells[1], x + w)]; rect.call(this, x, y, w, h); };
	})()`)
	page.resize(1610, 1000) // to draw again
	page.await(`names.size === 36`)
	if over := page.eval(`[...names.values()].sort((a, b) => a[0] - b[0]).filter((n, i, all) => i > 0 && all[i - 1][1] > n[0] - 6).length`); over != "0" {
		t.Errorf("the names of %s pods reach into the next one's frame", over)
	}
	page.await(`roots.size > 0`)
	if n := page.eval(`roots.size`); n != "2" {
		t.Errorf("%s of three roots, two of them side by side, have the word", n)
	}
	const painted = `document.querySelector("[data-painted]").dataset.painted`
	page.eval(`document.querySelector("#layouts [data-name=matrix]").click()`)
	page.await(`document.getElementById("heat").textContent.includes("leaf by its aggs in order")`)
	page.eval(`cells = [Infinity, 0], window.before = ` + painted)
	page.resize(1600, 1000)
	page.await(painted + ` !== before && cells[1] > 0`)
	if share := page.eval(`((cells[1] - cells[0]) / document.getElementById("heat").clientWidth).toFixed(2)`); share < "0.70" {
		t.Errorf("the matrix is as wide as %s of the picture", share)
	}
}
