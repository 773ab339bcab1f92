//go:build integration

package dashboards

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// months is the number of ten-minute intervals that TestMonths stores: 150 days.
const months = 150 * 24 * 6

// fillMonths stores ten-minute intervals up to noon: every sixth hour is High, and a cable failed a hundred days ago.
func (h *house) fillMonths(g *topology.Graph) {
	h.t.Helper()
	for _, statement := range []string{
		"INSERT INTO intervals (fabric, time, graph_version, duration_ms, links, measured, stored_at) SELECT {fabric:String}, fromUnixTimestamp64Milli({noon:Int64} - 600000 * (number + 1)), {version:UInt64}, 600000, 1, map('credit_stall', 1), now() FROM numbers({n:UInt64})",
		"INSERT INTO network_states (fabric, time, graph_version, metric, state, regions, stored_at) SELECT {fabric:String}, fromUnixTimestamp64Milli({noon:Int64} - 600000 * (number + 1)), {version:UInt64}, 'credit_stall', if(number % 36 < 6, 'High', 'Low'), [0, 1, 0, number % 36 < 6], now() FROM numbers({n:UInt64})",
		"INSERT INTO failures (fabric, time, kind, device, port, detail, stored_at) SELECT {fabric:String}, fromUnixTimestamp64Milli({noon:Int64} - 8640000000), 'link_failed', '0,0,0', 'X+', 'a cable', now()",
	} {
		if err := h.conn.Exec(h.t.Context(), statement, clickhouse.Named("fabric", g.Fabric()), clickhouse.Named("noon", noon/1e6), clickhouse.Named("version", g.Version()), clickhouse.Named("n", months)); err != nil {
			h.t.Fatal(err)
		}
	}
}

// The strip shows five months in steps, zooms into them, and jumps to events; its window is in the address.
func TestMonths(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	h.fabrics[torus].interval = 10 * time.Minute
	h.fillMonths(g)
	h.announce(busy(g, noon, hot(g, 1, schema.High, 0, 30)))
	page := browse(t, h.url+"/?layout=planes&span=all")
	page.await(shown)
	const steps, first, status = `document.getElementById("strip").getAttribute("aria-valuemax")`, `document.getElementById("strip").getAttribute("aria-valuetext")`, `document.getElementById("status").textContent`
	if got := page.eval(steps); got != "600" { // 150 days by 6 hours, and the remainder
		t.Errorf("the strip ends with step %s", got)
	}
	picture(t, page)
	page.eval(`document.getElementById("strip").focus()`)
	page.press("Home", 36)
	page.await(`location.search.includes("at=2023-06-17")`)
	if got := page.eval(first); got != "2023-06-17 18:00:00 UTC, 6.0 h: Low 100% of the time" {
		t.Errorf("the first step is said to be %q", got)
	}
	page.eval(`[...document.querySelectorAll("#controls button")].find((b) => b.textContent.startsWith("Incident")).click()`)
	failed := time.Unix(0, noon).UTC().Add(-100 * 24 * time.Hour)
	page.await(fmt.Sprintf(`location.search.includes(%q)`, "at="+url.QueryEscape(failed.Format(time.RFC3339))))
	page.await(fmt.Sprintf(`%s.startsWith(%q)`, status, failed.Format("2006-01-02 15:04")))
	for range 4 { // into it
		page.eval(`[...document.querySelectorAll("#controls button")].find((b) => b.textContent === "+").click()`)
	}
	page.await(fmt.Sprintf(`location.search.includes("until=") && Number(%s) > 600 && %s.includes("regions")`, steps, first))
	picture(t, page)
	address := page.eval(`location.href`)
	page.visit(address)
	page.await(shown + ` && location.search.includes("until=")`)
	page.eval(`[...document.querySelectorAll("#controls button")].find((b) => b.textContent === "Live").click()`)
	page.await(`!location.search.includes("until=") && !location.search.includes("at=")`)
}
