//go:build integration

package dashboards

import (
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
