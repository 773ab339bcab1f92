//go:build integration

package dashboards

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/hostping/run"
	"github.com/giverny/giverny/hostping/simulated"
	"github.com/giverny/giverny/internal/test/repo"
	"github.com/giverny/giverny/schema"
)

// probed returns the result of a run on a simulated machine with a fault.
func probed(t testing.TB, machine, agent string, bottleneck hostping.Bottleneck, place string) order.Step {
	t.Helper()
	at := slices.IndexFunc(simulated.Machines(), func(m simulated.Machine) bool { return m.Name == machine })
	g, err := hostping.ReadGraph(machine, []byte(simulated.Machines()[at].XML()), hostping.Hwloc)
	if err != nil {
		t.Fatal(err)
	}
	host := simulated.New(simulated.DefaultConfig(), g, 1)
	baseline, _, err := run.TakeBaseline(t.Context(), run.Options{Graph: g, Prober: run.Simulated{Host: host}})
	if err != nil {
		t.Fatal(err)
	}
	if bottleneck != "" {
		fault, err := simulated.NewFault(&g, bottleneck, place, .5)
		if err != nil {
			t.Fatal(err)
		}
		host.Inject(fault)
		host.Remove("gpu1")
	}
	report, err := run.Run(t.Context(), run.Options{Graph: g, Baseline: baseline, Prober: run.Simulated{Host: host}, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return order.Step{RunID: "monitor." + agent + ".1", Agent: agent, Status: schema.CommandDone, Time: schema.InstantOf(time.Now()),
		Outcome: order.Outcome{Trigger: order.IdleHost, Mode: order.Full, Model: g.Model, Seconds: 2.5, Probes: report.Probes, Report: &report, Graph: &g}}
}

// renamed returns a step in which a device has another name throughout.
func renamed(t *testing.T, step order.Step, from, to string) order.Step {
	t.Helper()
	text, err := json.Marshal(step)
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(to)
	if err != nil {
		t.Fatal(err)
	}
	var out order.Step
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), from, strings.Trim(string(quoted), `"`))), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// pick opens a host from the list and waits for its graph.
func pick(page *tab, host string) {
	page.await(fmt.Sprintf(`[...document.querySelectorAll(".host ~ div button.link")].some((b) => b.textContent === %q)`, host))
	page.eval(fmt.Sprintf(`[...document.querySelectorAll(".host ~ div button.link")].find((b) => b.textContent === %q).click()`, host))
	page.await(fmt.Sprintf(`document.querySelector(".host h3")?.textContent === %q && document.querySelector(".host-graph") !== null && document.querySelectorAll(".host-matrix td").length > 0`, host))
}

// The inside of a host is drawn in both themes and at the width of a phone: the accused link in red, the matrices as
// heatmaps. axe-core finds no fault, and names of hosts and devices are text.
func TestInsideAHost(t *testing.T) {
	h := open(t, torus)
	h.announce(busy(h.graph(torus), noon))
	ill := renamed(t, probed(t, "nps4", "host "+hostile, hostping.RNICPCIeFailure, "pci:mlx5_1"), "mlx5_1", "mlx5_1"+hostile)
	two := probed(t, "fig2", "host56", hostping.InterSocketFailure, "bus:socket0-socket1")
	if err := h.db.StoreHostRuns(t.Context(), torus, []order.Step{ill, two, probed(t, "4x2-pairs", "host7", "", "")}); err != nil {
		t.Fatal(err)
	}
	axe, err := os.ReadFile(filepath.Join(repo.Dir(t), ".deps", "axe", "axe.min.js"))
	if err != nil {
		t.Fatalf("%v; fetch it with: make deps-test", err)
	}
	page := browse(t, h.url+"/?page=hosts&fabric="+url.QueryEscape(torus))
	for _, c := range []struct{ name, host, accused string }{
		{"hostile", "host " + hostile, "pci:mlx5_1" + hostile}, {"bus", "host56", "bus:socket0-socket1"}, {"well", "host7", ""}} {
		pick(page, c.host)
		for _, theme := range []string{"dark", "light"} {
			if c.accused == "" && theme == "light" { // as the others, apart from the red
				continue
			}
			page.eval(fmt.Sprintf(`if (document.documentElement.classList.contains("light") !== (%q === "light")) document.getElementById("theme").click()`, theme))
			for _, width := range []int{windowWidth, 390} {
				page.resize(width, windowHeight)
				page.eval(`document.querySelector(".host").scrollIntoView()`)
				if err := os.WriteFile(filepath.Join(t.ArtifactDir(), fmt.Sprintf("%s-%s-%d.png", c.name, theme, width)), page.screenshot(), 0o644); err != nil {
					t.Fatal(err)
				}
				if got := page.eval(`document.documentElement.scrollWidth <= window.innerWidth`); got != "true" {
					t.Errorf("%s: the page is wider than a window of %d", c.name, width)
				}
			}
			page.resize(windowWidth, windowHeight)
			if c.name == "hostile" { // as the others, apart from the names
				checkAccessible(t, page, string(axe), c.name+" "+theme)
			}
			checkInside(t, page, c.host, c.accused)
		}
	}
	address := page.eval(`location.href`) // of the host that is shown
	page.eval(`document.querySelector(".host .close").click()`)
	page.await(`document.querySelector(".host-graph") === null && !location.search.includes("run=")`)
	page.visit(address)
	page.await(`document.querySelector(".host-graph") !== null && document.querySelector(".host h3").textContent === "host7"`)
	page.eval(`document.querySelector("#pages [data-page=collectives]").click()`)
	page.await(`!location.search.includes("run=") && location.search.includes("page=collectives")`)
}

// checkInside: the accused link alone is red, and cells that lose much are tinted more than those that lose nothing.
func checkInside(t *testing.T, page *tab, host, accused string) {
	t.Helper()
	red := page.eval(`[...document.querySelectorAll(".host-graph line.accused, .host-graph path.accused")].map((e) => e.querySelector("title").textContent.split(", ")[0] + " " + getComputedStyle(e).stroke).join()`)
	high := page.eval(`(() => { const e = document.createElement("i"); e.style.color = "var(--high)"; document.body.append(e); const c = getComputedStyle(e).color; e.remove(); return c; })()`)
	if want := accused + " " + high; accused != "" && red != want || accused == "" && red != "" {
		t.Errorf("%s: red is %q, want %q", host, red, want)
	}
	const tint = `[...document.querySelectorAll(".host-matrix:first-child td.number")].filter((e) => Number(e.textContent) %s).map((e) => Number(e.style.getPropertyValue("--bad"))).%s`
	if least := page.eval(fmt.Sprintf(tint, "< 60 && Number(e.textContent) > 0", "reduce((a, b) => Math.min(a, b), 100)")); least < "70" && least != "100" {
		t.Errorf("%s: a pair below 60%% of its baseline is tinted by %s%% only", host, least)
	}
	if most := page.eval(fmt.Sprintf(tint, ">= 95", "reduce((a, b) => Math.max(a, b), 0)")); most != "0" {
		t.Errorf("%s: a pair at 95%% of its baseline is tinted by %s%%", host, most)
	}
	if got := page.eval(`String(document.querySelectorAll("img, main script, iframe, [onerror]").length) + " " + (document.title === "owned")`); got != "0 false" {
		t.Errorf("%s: there is markup: %s", host, got)
	}
}

// Thousands of hosts are listed a part at a time and found by name, link and outcome; the one in view stays.
func TestThousandsOfHosts(t *testing.T) {
	h := open(t, torus)
	h.announce(busy(h.graph(torus), noon))
	ill, well := probed(t, "fig2", "", hostping.MemoryChannelFailure, "memory:numa1"), probed(t, "fig2", "", "", "")
	var steps []order.Step
	for i := range 3000 {
		s := well
		if i%100 == 0 {
			s = ill
		}
		s.Agent, s.RunID = fmt.Sprintf("node%04d", i), fmt.Sprintf("monitor.node%04d.1", i)
		steps = append(steps, s)
	}
	if err := h.db.StoreHostRuns(t.Context(), torus, steps); err != nil {
		t.Fatal(err)
	}
	page := browse(t, h.url+"/?page=hosts&fabric="+url.QueryEscape(torus))
	const listed = `String(document.querySelectorAll(".host ~ div tbody tr").length)`
	page.await(`document.querySelector(".summary")?.textContent === "3,000 hosts probed, 30 have a bottleneck inside."`)
	if got := page.eval(listed); got != "100" {
		t.Errorf("%s hosts are listed at once, want 100", got)
	}
	find := func(text string) string {
		page.eval(fmt.Sprintf(`document.querySelector("input[placeholder^=name]").value = %q; document.querySelector("input[placeholder^=name]").dispatchEvent(new Event("input"))`, text))
		return page.eval(listed)
	}
	if one, some, none := find("node2999"), find("memory:numa1"), find("no such"); one != "1" || some != "30" || none != "0" {
		t.Errorf("hosts found: %s, %s, %s; want 1, 30, 0", one, some, none)
	}
	find("node0100")
	pick(page, "node0100")
	h.announce(busy(h.graph(torus), noon+second))
	page.await(`document.getElementById("status").textContent.includes("22:13:22")`)
	if got := page.eval(`document.querySelector(".host h3").textContent + " " + document.querySelector("input[placeholder^=name]").value`); got != "node0100 node0100" {
		t.Errorf("after an interval the page shows %q", got)
	}
}
