//go:build integration

package dashboards

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/schema"
)

// The lists beside the map are refilled in each interval: the button with the focus keeps it, and when it is gone the last one
// of the list has it.
func TestButtonsKeepTheFocus(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	h.announce(busy(g, noon, hot(g, 1, schema.High, 0, 30)))
	page := browse(t, h.url+flat+"&select=link%3A3")
	page.await(shown)
	const focused = `document.activeElement.textContent + " in " + document.activeElement.closest("[id]")?.id`
	var at int64 = noon
	for list, button := range map[string]string{"hot": "button", "events": "li:last-child button", "pickedbody": ".actions button"} {
		page.await(`document.querySelector("#` + list + ` ` + button + `") !== null`)
		page.eval(`document.querySelector("#` + list + ` ` + button + `").focus()`)
		before := page.eval(focused)
		at += second
		page.eval(`window.shownThen = document.getElementById("status").textContent`)
		h.announce(busy(g, at, hot(g, 1, schema.High, 0, 30)))
		page.await(`document.getElementById("status").textContent !== shownThen`)
		if after := page.eval(focused); after != before {
			t.Errorf("the focus was on %s, and is on %s", before, after)
		}
	}
	page.eval(`document.querySelector("#hot button").focus()`)
	r := busy(g, at+second, hot(g, 1, schema.High, 0, 30))
	r.Hot[0].Link = 9
	h.announce(r)
	page.await(`document.querySelector("#hot button").dataset.key === "9"`)
	if key := page.eval(`document.activeElement.dataset.key`); key != "9" {
		t.Errorf("the focus is on %s, want the last hot link", page.eval(focused))
	}
}

// The page is dark or light as the system is, until the button has chosen.
func TestTheThemeFollowsTheSystem(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	h.announce(busy(g, noon, hot(g, 1, schema.High, 0, 30)))
	page := browse(t, h.url+flat)
	system := func(theme string) {
		page.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": theme}}}, nil)
	}
	const light = `document.documentElement.classList.contains("light")`
	page.await(shown)
	for _, theme := range []string{"dark", "light", "dark"} {
		system(theme)
		page.await(light + ` === ("` + theme + `" === "light")`)
	}
	page.eval(`document.getElementById("theme").click()`)
	page.visit(h.url + flat + "&again")
	page.await(shown)
	system("light")
	system("dark")
	if page.eval(light) != "true" {
		t.Error("the theme that was chosen is not kept")
	}
}

// A list beside the map is one stop of the Tab key, however many entries it has, and the arrow keys move within it: the controls
// of time come after a few stops, and a link at the top leads to them.
func TestListsAreOneStopOfTheTabKey(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	r := busy(g, noon, hot(g, 1, schema.High, 0, 30), hot(g, 2, schema.Low, 60, 30))
	for i := range int64(50) {
		r.Events = append(r.Events, schema.Event{TimeNanos: noon - (i+2)*second, Fabric: g.Fabric(), Kind: schema.LinkFailed, Device: "0,0,0", Port: "X+", Detail: fmt.Sprint("down ", i)})
	}
	h.announce(r)
	page := browse(t, h.url+flat)
	page.await(shown)
	page.await(`document.querySelectorAll("#events button").length === 40`)
	for _, list := range []string{"regions", "jobs", "hot", "events"} {
		if got := page.eval(`[...document.querySelectorAll("#` + list + ` :is(button, li[tabindex])")].filter((e) => e.tabIndex >= 0).length`); got != "1" && got != "0" {
			t.Errorf("%s stops in the list %s", got, list)
		}
	}
	const at = `document.activeElement.closest("[id]")?.id + " " + [...document.activeElement.closest("ol")?.querySelectorAll("button") ?? []].indexOf(document.activeElement)`
	page.eval(`document.querySelector("#events button").focus()`)
	for _, step := range []struct {
		key  string
		code int
		want string
	}{{"ArrowDown", 40, "events 1"}, {"ArrowDown", 40, "events 2"}, {"ArrowUp", 38, "events 1"}, {"End", 35, "events 39"}, {"ArrowDown", 40, "events 39"},
		{"Home", 36, "events 0"}, {"ArrowUp", 38, "events 0"}, {"ArrowDown", 40, "events 1"}, {"Tab", 9, "controls -1"}} {
		page.press(step.key, step.code)
		if got := page.eval(at); got != step.want {
			t.Fatalf("%s leads to %q, want %q", step.key, got, step.want)
		}
	}
	const stop = `[...document.querySelectorAll("#events button")].filter((e) => e.tabIndex >= 0).map((e) => e.dataset.key).join()`
	before := page.eval(stop)
	next := busy(g, noon+second, hot(g, 1, schema.High, 0, 30))
	h.announce(next)
	page.await(`document.getElementById("status").textContent.includes("22:13:22")`)
	if after := page.eval(stop); after != before {
		t.Errorf("the stop of the list was %q, and is %q", before, after)
	}
	page.eval(`document.activeElement.blur(); document.querySelector(".skip[href='#time']").focus(); document.activeElement.click()`)
	page.press("Tab", 9)
	if got := page.eval(at); got != "controls -1" {
		t.Errorf("the link to the controls of time leads to %q", got)
	}
}
