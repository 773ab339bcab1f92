//go:build integration

package dashboards

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/internal/problem"
	"github.com/giverny/giverny/schema"
)

const unknownText = `document.getElementById("severity").textContent === "unknown"`

// said is all that the page says about the state.
const said = `document.getElementById("severity").textContent + " | " + document.getElementById("why").textContent + " | " + document.getElementById("status").textContent`

// Silence, an interval that measured nothing, and old data are shown as such: never
// as calm, and never as live.
func TestThePageShowsSilence(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	h.fabrics[torus].interval = time.Minute // so that a slow machine does not look like silence
	now := time.Now().Truncate(time.Second).UnixNano()
	h.announce(busy(g, now-second, hot(g, 1, schema.High, 0, 30)))
	state := schema.NetworkForecast{Severity: schema.High}
	h.Watch(torus, func() (schema.NetworkForecast, bool) { return state, true })
	page := browse(t, h.url+flat)
	page.await(live)

	since := schema.Instant(now)
	state.Unknown = &schema.Unknown{Reason: schema.NoReadings, Since: since, Detail: "no readings for 2m0s, 0 of 12 agents report"}
	page.await(unknownText)
	got := page.eval(said)
	if !strings.Contains(got, " UTC: collectors silent. Last known: High congestion") || strings.Contains(got, "live") || strings.Contains(got, "calm") {
		t.Errorf("the collectors are silent: %s", got)
	}
	if todo := page.eval(`document.getElementById("todo").textContent`); todo != "No readings for 2m0s, 0 of 12 agents report. Check the agents: run giverny collect --once on one of their hosts." {
		t.Errorf("what to do: %s", todo)
	}
	picture(t, page)

	state.Unknown = nil
	empty := busy(g, now)
	for i := range empty.Snapshot.Series {
		empty.Snapshot.Series[i].Valid, empty.Snapshot.Series[i].Count = schema.NewBitmap(g.NumLinks()), 0
	}
	empty.Network = schema.NetworkForecast{Unknown: &schema.Unknown{Reason: schema.NothingMeasured, Since: since}}
	h.announce(empty)
	page.await(`document.getElementById("why").textContent.includes("nothing measured")`)
	if got := page.eval(said); strings.Contains(got, "live") || strings.Contains(got, "calm") || !strings.HasPrefix(got, "unknown") {
		t.Errorf("nothing measured: %s", got)
	}
	if regions := page.eval(`document.getElementById("regions").textContent`); regions != "unknown while data are missing" {
		t.Errorf("regions: %s", regions)
	}
}

// A stream that is cut without notice, as by a gateway, does not stop the page from updating.
func TestThePageGoesOnWithoutItsStream(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	h.fabrics[torus].interval = time.Minute
	now := time.Now().Truncate(time.Second).UnixNano()
	h.announce(busy(g, now-2*second))
	page := browse(t, h.url+flat)
	page.await(live)
	page.eval(`dispatchEvent(new PageTransitionEvent("pagehide"))`) // which closes the stream
	h.announce(busy(g, now-second, hot(g, 1, schema.High, 0, 30)))
	page.await(`document.getElementById("severity").textContent.startsWith("High congestion")`)
	page.eval(`dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))`) // which opens it again
	h.announce(busy(g, now))
	page.await(`document.getElementById("severity").textContent.startsWith("calm")`)
}

// A server that does not answer, though its connections stay open, and one that is gone leave the state unknown: the page
// does not show the last answer as live in either case. It goes on when there is an answer again.
func TestThePageWithoutAnswers(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	h.fabrics[torus].interval = time.Minute
	now := time.Now().Truncate(time.Second).UnixNano()
	h.announce(busy(g, now-2*second, hot(g, 1, schema.High, 0, 30)))
	var silent atomic.Bool // no request is answered
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for silent.Load() && r.Context().Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		h.server.Config.Handler.ServeHTTP(w, r)
	}))
	end := func() { server.CloseClientConnections(); server.Close() }
	defer end()
	page := browse(t, "about:blank")
	page.call("Page.enable", nil, nil)
	page.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `const later = window.setTimeout; window.setTimeout = (f, ms, ...a) => later(f, ms / 20, ...a)`}, nil) // seconds of patience pass faster
	page.visit(server.URL + flat)
	page.await(live)
	silent.Store(true)
	page.await(unknownText)
	if got := page.eval(said); !strings.Contains(got, "server not reachable. Last known: High congestion") || strings.Contains(got, "live") {
		t.Errorf("without an answer: %s", got)
	}
	if todo := page.eval(`document.getElementById("todo").textContent`); !strings.HasPrefix(todo, "The server does not answer") {
		t.Errorf("what to do: %s", todo)
	}
	silent.Store(false)
	page.await(live + ` && document.getElementById("severity").textContent === "High congestion"`)
	end()
	page.await(unknownText + ` && document.getElementById("notice").textContent.startsWith("Connection lost")`)
	if got := page.eval(said); !strings.Contains(got, "server not reachable. Last known: High congestion") || strings.Contains(got, "live") {
		t.Errorf("without a server: %s", got)
	}
	page.errors = nil // those of the requests
}

// While the first picture is not there yet since the store hangs, the page says what is known of that.
func TestThePageLoadsFromAStoreThatHangs(t *testing.T) {
	h := open(t, torus)
	state := schema.NetworkForecast{Unknown: &schema.Unknown{Reason: schema.StoreRefuses, Since: schema.Instant(noon), Detail: "the store has accepted no interval for 12s"}}
	h.Watch(torus, func() (schema.NetworkForecast, bool) { return state, true })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/snapshot") {
			<-r.Context().Done()
			return
		}
		h.server.Config.Handler.ServeHTTP(w, r)
	}))
	defer func() { server.CloseClientConnections(); server.Close() }()
	page := browse(t, server.URL)
	page.await(`document.getElementById("notice").textContent.includes("store not accepting writes. The store has accepted no interval for 12s. Start ClickHouse")`)
}

// A page whose session has ended, as its requests are refused, does not show the last state as the present one, and leaving
// its dialog is no attempt to sign in.
func TestThePageOfASessionThatEnded(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	h.fabrics[torus].interval = time.Minute
	h.announce(busy(g, time.Now().Truncate(time.Second).UnixNano()-2*second, hot(g, 1, schema.High, 0, 30)))
	var ended atomic.Bool
	var logins atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/login" {
			logins.Add(1)
		}
		if ended.Load() {
			problem.New(http.StatusUnauthorized, "want a token").Write(w)
			return
		}
		h.server.Config.Handler.ServeHTTP(w, r)
	}))
	defer func() { server.CloseClientConnections(); server.Close() }()
	page := browse(t, server.URL+flat)
	page.await(live)
	ended.Store(true)
	page.await(unknownText)
	if got := page.eval(said); !strings.Contains(got, "request failed. Last known: High congestion") {
		t.Errorf("without a session: %s", got)
	}
	server.CloseClientConnections() // the stream, too: it is refused
	h.announce(busy(g, time.Now().Truncate(time.Second).UnixNano()-second))
	page.eval(`document.getElementById("least").value = "High"; document.getElementById("least").dispatchEvent(new Event("change"))`)
	page.await(`document.getElementById("login").open`)
	page.press("Escape", 27)
	page.await(`!document.getElementById("login").open`)
	if n := logins.Load(); n != 0 {
		t.Errorf("%d attempts to sign in", n)
	}
	page.errors = nil // those of the refusals
}

// A hidden page holds no stream, and a refused one shows the error of the server.
func TestThePageHoldsItsStreamWhileSeen(t *testing.T) {
	h := open(t, torus)
	h.streams.mostPerClient = 1
	h.fabrics[torus].interval = time.Minute
	g := h.graph(torus)
	now := time.Now().Truncate(time.Second).UnixNano()
	h.announce(busy(g, now-second))
	page := browse(t, h.url+flat)
	page.await(live)
	listeners := func(n float64) {
		t.Helper()
		eventually(t, fmt.Sprint(n, " streams"), func() bool { return testutil.ToFloat64(h.metrics.listeners) == n })
	}
	listeners(1)
	see := func(hidden bool) {
		page.eval(fmt.Sprintf(`Object.defineProperty(document, "hidden", { value: %v, configurable: true }); document.dispatchEvent(new Event("visibilitychange"))`, hidden))
	}
	see(true)
	listeners(0)
	other := h.stream(t, "")
	listeners(1)
	see(false)
	h.announce(busy(g, now, hot(g, 1, schema.High, 0, 30)))
	page.await(`document.getElementById("notice").textContent.includes("this client has 1 stream open already; close one")`)
	other.body.Close()
	page.await(`document.getElementById("notice").hidden`)
	listeners(1)
	page.errors = slices.DeleteFunc(page.errors, func(text string) bool { return strings.Contains(text, "429") }) // the refusals
}

// Old data are shown with their date, here in 2023.
func TestThePageDatesOldData(t *testing.T) {
	h := open(t, torus)
	h.announce(busy(h.graph(torus), noon))
	page := browse(t, h.url+flat)
	page.await(`document.getElementById("status").textContent.startsWith("2023-11-14 22:13:21 UTC, ")`)
	if got := page.eval(said); strings.Contains(got, "live") || !strings.Contains(got, "years old") && !strings.Contains(got, "days old") || !strings.Contains(got, "calm, 2023-11-14 22:13:21 UTC") {
		t.Errorf("old data: %s", got)
	}
	if page.eval(`document.querySelector("header").offsetHeight < 60`) != "true" {
		t.Error("the header takes two lines: the map moves when data become old")
	}
	picture(t, page)
}

// Before anything is stored the page says why, once that has lasted; scores that are not known are not said to be low.
func TestSilenceFromTheStart(t *testing.T) {
	h := open(t, torus)
	state := schema.NetworkForecast{Unknown: &schema.Unknown{Reason: schema.NoReadings, Since: schema.Instant(noon), Detail: "no readings for 2m0s, 0 of 0 agents report"}}
	h.Watch(torus, func() (schema.NetworkForecast, bool) { return state, true })
	page := browse(t, h.url+flat)
	page.await(`document.getElementById("todo").textContent.startsWith("No readings for 2m0s, 0 of 0 agents report. Check the agents")`)
	if why := page.eval(`document.getElementById("why").textContent`); !strings.Contains(why, "collectors silent") {
		t.Errorf("why nothing is stored: %s", why)
	}
	picture(t, page)
	page.visit(h.url + "/?page=hosts")
	page.await(`document.body.textContent.includes("The scores are unknown, as is the state of the network: collectors silent. No readings for 2m0s")`)
}

// A region of which links are not read says so and shows no fall, and a switch that stopped reporting is an event.
func TestThePageShowsUnreadLinks(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	region := hot(g, 1, schema.Medium, 0, 18)
	region.Unread = 12
	region.Forecast.GrowthLinks, region.Forecast.TrendPercent = -12, -9
	now := busy(g, time.Now().Truncate(time.Second).UnixNano()-second, region)
	now.Events = append(now.Events, schema.Event{TimeNanos: now.Snapshot.Interval.StartNanos, Fabric: torus, Kind: schema.SwitchSilent, Device: "1,1,1",
		Detail: "not reporting for 2 intervals, but it works: its neighbours exchange traffic with it; check the agent or collector that reads it: ports X+, X- to 0,1,1, 2,1,1"})
	h.announce(now)
	page := browse(t, h.url+flat)
	page.await(shown)
	page.await(`document.getElementById("events").textContent.includes("not reporting for 2 intervals, but it works")`)
	if got := page.eval(`document.getElementById("regions").textContent`); !strings.Contains(got, "18 links (−12), 12 unread") || strings.Contains(got, "↘") {
		t.Errorf("the region: %s", got)
	}
	picture(t, page)
}
