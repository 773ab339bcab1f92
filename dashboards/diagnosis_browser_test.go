//go:build integration

package dashboards

import (
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Names of jobs, users and devices come from outside: they are shown as they are and
// never run.
const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`

func hostileDay(g *topology.Graph) *schema.IntervalResult {
	low, high := hot(g, 2, schema.Low, 60, 20), hot(g, 1, schema.High, 0, 30)
	r := busy(g, noon, low, high)
	start := schema.Instant(noon)
	r.Jobs = []schema.Job{{Fabric: torus, ID: "17", Name: hostile, User: hostile, Nodes: []string{"0,0,0", "1,0,0"}, Start: start - 600e9, State: hostile},
		{Fabric: torus, ID: "4" + hostile, Name: "milc", Nodes: []string{"2,0,0"}, Start: start - 60e9}}
	r.Diagnoses = []schema.Diagnosis{
		{Fabric: torus, Time: start, Region: 1, Metric: schema.CreditStall, Severity: schema.High, Links: high.Links, Mean: high.Mean, Cause: schema.Cause{Class: schema.CauseSystem, Confidence: .93},
			Jobs:     []schema.AccusedJob{{JobID: "17", Blame: .81, Feature: "rdma_read_bytes", Value: 2.3e11, Deviations: 14.2, Correlation: .91, LagSeconds: 1200, PValue: .002}},
			Failures: []schema.NearFailure{{Time: start - 5e9, Kind: schema.LinkFailed, Device: hostile, Port: "X+", Hops: 1}},
			Root:     &schema.Root{Link: schema.NoLink, Device: "0,0,0", Port: "X+", Peer: hostile, Kind: "link_capacity"},
			Victims:  []schema.VictimJob{{JobID: "4" + hostile, Slowdown: [2]float64{1.1, 1.6}}},
			Action:   "place it in a compact block " + hostile, Text: "Job 17 (" + hostile + "): its all-to-all fills the links it stands on."},
		{Fabric: torus, Time: start, Region: 2, Metric: schema.CreditStall, Severity: schema.Low, Links: low.Links, Mean: low.Mean, Cause: schema.Cause{Class: schema.CauseUnknown, Confidence: .4},
			Jobs: []schema.AccusedJob{}, Failures: []schema.NearFailure{}, Victims: []schema.VictimJob{}, Text: "Nothing stands out."},
	}
	return r
}

// A job whose id was used before by a run that was never reported to end is listed once, with its latest run.
func TestAJobIsListedOnce(t *testing.T) {
	h := open(t, torus)
	day := hostileDay(h.graph(torus))
	day.Jobs = append(day.Jobs, schema.Job{Fabric: torus, ID: "17", Name: "before", Nodes: []string{"3,0,0", "3,1,0", "3,2,0"}, Start: schema.Instant(noon) - 900e9})
	h.announce(day)
	page := browse(t, h.url+flat)
	page.await(shown)
	page.await(`document.getElementById("jobs").innerText.includes("milc")`)
	jobs := page.eval(`document.getElementById("jobs").innerText`)
	if strings.Count(jobs, "17 ") != 1 || strings.Contains(jobs, "before") || !strings.Contains(jobs, "2 nodes") {
		t.Errorf("the jobs are listed as %s", jobs)
	}
}

// TestFactsThatSayNothingAreLeftOut: the row of an accused job has no zeros, and a slowdown of 20 is shown as a bound.
func TestFactsThatSayNothingAreLeftOut(t *testing.T) {
	h := open(t, torus)
	day := hostileDay(h.graph(torus))
	day.Diagnoses[0].Jobs = []schema.AccusedJob{{JobID: "17", Blame: .9996, Feature: "rdma_read_bytes", PValue: 1}}
	day.Diagnoses[0].Victims = []schema.VictimJob{{JobID: "5", Slowdown: [2]float64{20, 20}}, {JobID: "6", Slowdown: [2]float64{1.2, 20}}, {JobID: "7", Slowdown: [2]float64{1.25, 3}, LostPercent: 63.4}}
	h.announce(day)
	page := browse(t, h.url+flat)
	page.await(shown)
	page.await(`!document.getElementById("diagnosis").hidden`)
	verdict := page.eval(`document.getElementById("verdict").innerText`)
	for _, want := range []string{"blame 99%\n", "job 5: 20 or more times slower", "job 6: 1.2 or more times slower", "job 7: moves 63% less; 1.3 to 3.0 times slower"} {
		if !strings.Contains(verdict, want) {
			t.Errorf("the panel does not say %q: %s", want, verdict)
		}
	}
}

// The diagnosis of a slow host names the host, and managed switches have their own names.
func TestASlowHostIsNamed(t *testing.T) {
	h := open(t, torus)
	day := hostileDay(h.graph(torus))
	root := &schema.Root{Link: schema.NoLink, Device: "MF0;LG18-07:MQM8700/U1", Port: "5", Peer: "luna-0341 mlx5_8", Kind: schema.RootSlowReceiver}
	day.Regions[1].Root, day.Diagnoses[0].Root, day.Diagnoses[0].Cause.Class = root, root, schema.CauseSlowHost
	h.announce(day)
	page := browse(t, h.url+flat)
	page.await(shown)
	for _, want := range []string{"slow host luna-0341 mlx5_8 at LG18-07 port 5, 93% sure", "waits for LG18-07 port 5"} {
		if regions := page.eval(`document.getElementById("regions").innerText`); !strings.Contains(regions, want) {
			t.Errorf("the list does not say %q: %s", want, regions)
		}
	}
}

// TestEventsSayWhatIsNew: the event of a region that was born says so.
func TestEventsSayWhatIsNew(t *testing.T) {
	h := open(t, torus)
	day := hostileDay(h.graph(torus))
	day.Events = []schema.Event{{TimeNanos: noon, Fabric: torus, Kind: schema.RegionBorn, RegionID: 1, Detail: "High credit_stall region at leaf7 port 9 (host56), 100 links"}}
	h.announce(day)
	page := browse(t, h.url+flat)
	page.await(shown)
	page.await(`document.getElementById("events").innerText.includes("new High credit stall region at leaf7 port 9 (host56), 100 links")`)
}

// TestTheDirectionOfTextIsThePagesOwn: a name cannot change the direction of the text after it, and a ticket has no
// control characters that would reach a terminal.
func TestTheDirectionOfTextIsThePagesOwn(t *testing.T) {
	h := open(t, torus)
	day := hostileDay(h.graph(torus))
	day.Jobs[0].Name = "ab\u202ecd\x1b[31m"
	day.Diagnoses[0].Victims[0].JobID = "v\u202ew"
	h.announce(day)
	page := browse(t, h.url+flat)
	page.await(shown)
	page.await(`document.getElementById("jobs").innerText.includes("ab?cd?[31m") && document.getElementById("verdict").innerText.includes("v?w")`)
	page.eval(`navigator.clipboard.writeText = (text) => { window.pasted = text; return Promise.resolve(); }; document.getElementById("copy").click()`)
	page.await(`document.getElementById("copied").textContent === "copied"`)
	if bare := page.eval(`String(/[\u202e\u001b]/.test(document.body.textContent + window.pasted))`); bare != "false" {
		t.Error("the page or the ticket has characters that control the text after them")
	}
}

// The panel says why the worst or the chosen region is congested, the list of jobs
// which regions they caused or suffered from, and a ticket has all of it as text.
func TestThePageSaysWhy(t *testing.T) {
	h := open(t, torus)
	h.announce(hostileDay(h.graph(torus)))
	page := browse(t, h.url+flat)
	page.await(shown)
	page.await(`!document.getElementById("diagnosis").hidden`)
	verdict := page.eval(`document.getElementById("verdict").innerText`)
	for _, text := range []string{"load of jobs, 93% sure", "its all-to-all fills the links", hostile, "blame 81%; rdma read bytes 230 GB; 14.2 deviations above the median; correlation 0.91 at a lag of 1200 s, p 0.0020",
		"0,0,0 port X+ to " + hostile + ": full link", "1.1 to 1.6 times slower", "place it in a compact block", "link failed", "1 hop away"} {
		if !strings.Contains(verdict, text) {
			t.Errorf("the panel does not say %q: %s", text, verdict)
		}
	}
	if action := page.eval(`document.querySelector("#verdict .cause").nextElementSibling.textContent`); !strings.Contains(action, "place it in a compact block") {
		t.Errorf("after the verdict comes %q, not what to do", action)
	}
	if times := strings.Count(verdict, "place it in a compact block"); times != 1 {
		t.Errorf("the panel says %d times what to do: %s", times, verdict)
	}
	jobs := page.eval(`document.getElementById("jobs").innerText`)
	for _, text := range []string{"17 " + hostile, "2 nodes", "accused of " + h.regionName(), "(blame 81%)", "slowed down by " + h.regionName()} {
		if !strings.Contains(jobs, text) {
			t.Errorf("the jobs do not say %q: %s", text, jobs)
		}
	}
	if got, want := page.eval(`[...document.querySelectorAll("#regions em")].map((e) => e.textContent).join("\n")`), "load of job 17 ("+hostile+"), 93% sure\ncause unknown"; got != want {
		t.Errorf("the list of regions says why they are there: %s, want %s", got, want)
	}
	picture(t, page)
	page.eval(`navigator.clipboard.writeText = (text) => { window.pasted = text; return Promise.resolve(); }; document.getElementById("copy").click()`)
	page.await(`document.getElementById("copied").textContent === "copied"`)
	ticket := page.eval(`window.pasted`)
	for _, text := range []string{"High congestion on " + torus, "(region 1), 2023-11-14T22:13:20Z", hostile, "cause: load of jobs, 93% sure", "accused: job 17 (" + hostile, "victims: ", "root port: 0,0,0 port X+", "action: place it"} {
		if !strings.Contains(ticket, text) {
			t.Errorf("the ticket does not say %q: %s", text, ticket)
		}
	}
	page.eval(`document.querySelectorAll("#regions li")[1].click()`)
	page.await(`document.getElementById("verdict").innerText.includes("Nothing stands out.")`)
	if text := page.eval(`document.getElementById("verdict").innerText`); !strings.Contains(text, "cause unknown") || strings.Contains(text, "40% sure") || strings.Contains(text, "accused") {
		t.Errorf("of the region that was chosen the panel says %s", text)
	}
	if got := page.eval(`document.title + " " + document.querySelectorAll("aside img, aside script").length`); got != torus+" \u00b7 Giverny 0" {
		t.Errorf("a hostile name became markup: %s", got)
	}
	if dom := page.eval(dom); strings.Contains(dom, "undefined") || strings.Contains(dom, "NaN") || strings.Contains(dom, "TypeError") {
		t.Error("the page says undefined, NaN or TypeError")
	}
}

// regionName is the name of hostileDay's High region.
func (h *house) regionName() string { return hot(h.graph(torus), 1, schema.High, 0, 30).Name }
