//go:build engine || integration

package dashboards

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"

	"github.com/giverny/giverny/dashboards/operation"
	"github.com/giverny/giverny/schema"
)

// table gets an Arrow stream: its schema and its rows as text, batch by batch.
func (h *house) table(path string) (*arrow.Schema, []string) {
	h.t.Helper()
	response := h.getRaw("/api/v1/fabrics/"+mesh+"/"+path, http.Header{"Accept": {operation.ArrowStream}, "Accept-Encoding": {"zstd"}})
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != operation.ArrowStream || response.Header.Get("Content-Encoding") != "zstd" {
		h.t.Fatalf("%s: %d %v", path, response.StatusCode, response.Header)
	}
	reader, err := ipc.NewReader(decoded(h.t, response))
	if err != nil {
		h.t.Fatal(err)
	}
	defer reader.Release()
	var batches []string
	for reader.Next() {
		text, err := array.RecordToStructArray(reader.Record()).MarshalJSON()
		if err != nil {
			h.t.Fatal(err)
		}
		batches = append(batches, strings.ReplaceAll(string(text), "\n", ""))
	}
	if err := reader.Err(); err != nil {
		h.t.Fatal(err)
	}
	return reader.Schema(), batches
}

// Bulk answers are Arrow streams with JSON's values; the error for a client that accepts neither lists the types.
func TestTables(t *testing.T) {
	h := open(t, mesh)
	g := h.graph(mesh)
	h.store(g, twoIntervals(g)...)
	s, batches := h.table("snapshot?metrics=credit_stall")
	if version, _ := s.Metadata().GetValue("graph_version"); version != summaryOf(h.fabrics[mesh], g).GraphVersion.String() {
		t.Errorf("version %q", version)
	}
	want := `[{"credit_stall":10,"link":0,"time":"2023-11-14 22:13:21"},{"credit_stall":null,"link":1,"time":"2023-11-14 22:13:21"},`
	if len(batches) != 1 || !strings.HasPrefix(batches[0], want) {
		t.Errorf("snapshot: %v", batches)
	}
	_, batches = h.table("link-values?metrics=credit_stall,throughput")
	if len(batches) != 2 || strings.Count(batches[0], "{") != g.NumLinks() || !strings.Contains(batches[1], `{"credit_stall":12,"link":2,"throughput":12,`) {
		t.Errorf("values of links: %v", batches)
	}
	_, batches = h.table("regions")
	if len(batches) != 1 || strings.Count(batches[0], "{") != 2 || !strings.Contains(batches[0], `"severity":"High"`) || !strings.Contains(batches[0], `"links":[0,2,3]`) {
		t.Errorf("regions: %v", batches)
	}
	for path, accept := range map[string]string{"link-values?metrics=credit_stall": "application/json", "snapshot": "text/html", "network": operation.ArrowStream} {
		if status := h.getRaw("/api/v1/fabrics/"+mesh+"/"+path, http.Header{"Accept": {accept}}).StatusCode; status != http.StatusNotAcceptable {
			t.Errorf("%s as %s: %d", path, accept, status)
		}
	}
	if detail := h.problem("fabrics/"+mesh+"/link-values?metrics="+strings.Repeat("credit_stall,", 50)+"credit_stall&from=0&to=10000000000", http.StatusBadRequest); !strings.Contains(detail, "want at most 200000000") {
		t.Error(detail)
	}
}

// Tables are CSV too: that of links is what giverny segment reads, that of regions has their roots, page by page.
func TestTablesAsCSV(t *testing.T) {
	h := open(t, mesh)
	g := h.graph(mesh)
	results := twoIntervals(g)
	results[1].Regions[0].Root = &schema.Root{Device: "=leaf1", Port: "9", Peer: "host1, the first", Kind: schema.RootIncast, Link: schema.NoLink}
	h.store(g, results...)
	get := func(path string) (body, next string) {
		t.Helper()
		response := h.getRaw("/api/v1/fabrics/"+mesh+"/"+path, http.Header{"Accept": {operation.CSV}})
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != operation.CSV {
			t.Fatalf("%s: %d, %v, %v", path, response.StatusCode, response.Header, err)
		}
		return string(text), response.Header.Get("Link")
	}
	links, _ := get("link-values?metrics=credit_stall")
	if want := "time,link,credit_stall\n2023-11-14T22:13:20Z,0,0\n2023-11-14T22:13:20Z,1,\n"; !strings.HasPrefix(links, want) || strings.Count(links, "\n") != 1+2*g.NumLinks() {
		t.Errorf("links: %s", links)
	}
	newest, next := get("regions?n=1")
	lines := strings.Split(strings.TrimSpace(newest), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "time,graph_version,region,metric,severity,name,mean_percent,max_percent,birth,age_intervals,links,root_device,") || !strings.HasSuffix(lines[1], `,0 2 3,'=leaf1,9,"host1, the first",incast,1`) {
		t.Errorf("regions: %s", newest)
	}
	from, to := strings.Index(next, "?"), strings.Index(next, `>; rel="next"`)
	if from < 0 || to < 0 {
		t.Fatalf("next page: %q", next)
	}
	if older, last := get("regions" + next[from:to]); strings.Count(older, "\n") != 2 || last != "" {
		t.Errorf("the page before: %s, then %q", older, last)
	}
}

// Pages by cursor give every row once, in order of time, however small the pages are.
func TestPages(t *testing.T) {
	h := open(t, mesh)
	g := h.graph(mesh)
	results := twoIntervals(g)
	for _, r := range results {
		for range 3 {
			r.Events = append(r.Events, schema.Event{TimeNanos: r.Snapshot.Interval.StartNanos, Fabric: mesh, Kind: schema.Story, Detail: strings.Repeat("x", len(r.Events))})
		}
	}
	h.store(g, results...)
	type page struct {
		Next      string
		Truncated bool
		Events    []schema.Event
	}
	whole := decode[page](t, h.get("fabrics/"+mesh+"/events", http.StatusOK))
	for _, n := range []string{"1", "2", "3"} {
		var all []schema.Event
		for cursor := ""; ; {
			p := decode[page](t, h.get("fabrics/"+mesh+"/events?n="+n+"&cursor="+cursor, http.StatusOK))
			all = append(append([]schema.Event{}, p.Events...), all...)
			if cursor = p.Next; cursor == "" || len(all) > len(whole.Events) {
				break
			}
		}
		if len(all) != len(whole.Events) {
			t.Fatalf("n=%s: %d events, want %d", n, len(all), len(whole.Events))
		}
		for i := range all {
			if all[i] != whole.Events[i] {
				t.Errorf("n=%s: event %d is %+v, want %+v", n, i, all[i], whole.Events[i])
			}
		}
	}
}
