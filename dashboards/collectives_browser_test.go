//go:build integration

package dashboards

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/detect"
	"github.com/giverny/giverny/collective/report"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/incident"
)

// slowCollective is the diagnosis of a simulated all-reduce that a flow of another job slows.
func slowCollective(t *testing.T, job string, ago time.Duration) report.Published {
	t.Helper()
	in, err := incident.New(incident.Spec{Class: collective.BackgroundFlow, Algorithm: collective.Ring, ChunkBytes: 1 << 20, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	played, err := in.Simulate(detect.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	m := report.Meta{Job: job, Format: "simulated", Begin: schema.InstantOf(time.Now().Add(-ago))}
	for _, rank := range played.Run.Ranks {
		m.Devices = append(m.Devices, []string{rank.Node})
	}
	r, err := report.New(played.Run, collective.Diagnose(played.Run, collective.Options{}), m)
	if err != nil {
		t.Fatal(err)
	}
	return report.Published{RunID: r.ID(), Agent: "n1", Time: schema.InstantOf(time.Now()), Report: r}
}

// A diagnosed collective is drawn in both themes and at the width of a phone: a row for each rank, a box for each step,
// the critical path from the first step to the last, and the culprit.
func TestACollective(t *testing.T) {
	h := open(t, torus)
	h.announce(busy(h.graph(torus), noon))
	run := slowCollective(t, "job 17", time.Hour)
	if err := h.db.StoreCollectives(t.Context(), torus, []report.Published{run}); err != nil {
		t.Fatal(err)
	}
	page := browse(t, h.url+"/?page=collectives&fabric="+url.QueryEscape(torus))
	page.await(`document.querySelector("#other td button.link")?.textContent === "job 17"`)
	page.eval(`document.querySelector("#other td button.link").click()`)
	page.await(`document.querySelector(".timeline") !== null`)
	for _, theme := range []string{"dark", "light"} {
		page.eval(fmt.Sprintf(`if (document.documentElement.classList.contains("light") !== (%q === "light")) document.getElementById("theme").click()`, theme))
		for _, width := range []int{windowWidth, 390} {
			page.resize(width, windowHeight)
			if err := os.WriteFile(filepath.Join(t.ArtifactDir(), fmt.Sprintf("collective-%s-%d.png", theme, width)), page.screenshot(), 0o644); err != nil {
				t.Fatal(err)
			}
			if got := page.eval(`document.documentElement.scrollWidth <= window.innerWidth`); got != "true" {
				t.Errorf("the page is wider than a window of %d", width)
			}
		}
	}
	d := &run.Report.Diagnosis
	if got, want := page.eval(`document.querySelectorAll(".timeline .critical").length`), fmt.Sprint(len(d.CriticalPath)); got != want {
		t.Errorf("%s segments of the critical path, want %s", got, want)
	}
	if got, want := page.eval(`document.querySelectorAll(".timeline .step").length`), fmt.Sprint(len(run.Report.Timeline.Step)); got != want || got == "0" {
		t.Errorf("%s steps, want %s", got, want)
	}
	if got := page.eval(`document.querySelector(".collective td.High").textContent`); got != "background flow" {
		t.Errorf("the culprit is %q", got)
	}
	const labels = `[...document.querySelectorAll(".timeline text")].map((e) => e.textContent).filter((t) => t.endsWith(" ms"))`
	if even := page.eval(labels + `.map(parseFloat).every((v, i, all) => v === Number((i * all[1]).toPrecision(6))) && /^0*\.?0*[125]0*$/.test(parseFloat(` + labels + `[1]))`); even != "true" {
		t.Errorf("the axis has the labels %s", page.eval(labels+`.join()`))
	}
	address := page.eval(`location.href`)
	page.eval(`history.back()`)
	page.await(`document.querySelector(".timeline") === null`)
	page.visit(address)
	page.await(`document.querySelector(".timeline") !== null && document.querySelector(".collective h3").textContent.startsWith("Job job 17")`)
	page.eval(`document.querySelector(".collective .close").click()`)
	page.await(`document.querySelector(".timeline") === null && !location.search.includes("run=")`)
}

// The list has the collectives of the chosen window, or of a week if none is chosen.
func TestCollectivesOfTheWindow(t *testing.T) {
	h := open(t, torus)
	now := time.Now().Truncate(time.Minute).UnixNano()
	for _, ago := range []time.Duration{25 * 24 * time.Hour, 0} { // so that there is a past to choose from
		h.announce(busy(h.graph(torus), now-int64(ago)))
	}
	runs := []report.Published{slowCollective(t, "job 17", time.Hour), slowCollective(t, "job 18", 10*24*time.Hour), slowCollective(t, "job 19", 40*24*time.Hour)}
	if err := h.db.StoreCollectives(t.Context(), torus, runs); err != nil {
		t.Fatal(err)
	}
	const listed = `[...document.querySelectorAll("#other td button.link")].map((b) => b.textContent).join()`
	page := browse(t, h.url+"/?page=collectives&fabric="+url.QueryEscape(torus))
	page.await(listed + ` === "job 17"`)
	page.eval(`(s => { s.value = "2592000"; s.dispatchEvent(new Event("change")); })(document.querySelector("#controls select"))`)
	page.await(listed + ` === "job 17,job 18"`)
	if got := page.eval(`document.querySelector("#other div p").textContent`); !strings.Contains(got, "2 runs in the last 30 days") {
		t.Errorf("the list says %q", got)
	}
	page.eval(`(s => { s.value = "900"; s.dispatchEvent(new Event("change")); })(document.querySelector("#controls select"))`)
	page.await(`document.querySelector("#other div p")?.textContent.startsWith("No diagnosed collective ran in the last 15 min")`)
}
