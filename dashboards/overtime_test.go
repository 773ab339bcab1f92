package dashboards

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/schema"
)

func TestNowSaysWhatIsKnownOverTime(t *testing.T) {
	m := &memory{}
	d, server, _ := show(t, m, torus)
	g := d.fabrics[torus].Graph
	m.put(torus, busy(g, noon, hot(g, 9, schema.Medium, 0, 40)))
	body := ask(t, server.URL+"/api/v1/fabrics/"+torus+"/now", http.StatusOK)
	got := decode[struct {
		Network    schema.NetworkForecast  `json:"network"`
		Congestion *schema.CongestionEvent `json:"congestion"`
		Hot        []schema.HotLink        `json:"hot"`
	}](t, body)
	want := busy(g, noon).tracking
	want.Network.Severity = schema.Medium // of its regions
	if diff := cmp.Diff(want, Tracking{got.Network, got.Congestion, got.Hot}); diff != "" {
		t.Error(diff)
	}
	calm := busy(g, noon)
	calm.tracking = Tracking{}
	m.put(torus, calm)
	if body = ask(t, server.URL+"/api/v1/fabrics/"+torus+"/now", http.StatusOK); !strings.Contains(body, `"congestion":null,"hot":[]`) {
		t.Errorf("of a calm fabric: %.200s", body[strings.Index(body, `"regions"`):])
	}
}

func TestQuestionsAboutAStretchOfTime(t *testing.T) {
	m := &memory{}
	d, server, _ := show(t, m, torus)
	m.put(torus, busy(d.fabrics[torus].Graph, noon))
	for query, want := range map[string]string{
		"transitions": `"from_nanos":1699913601000000000,"to_nanos":1700000001000000000,"states":["Neg","Low","Medium","High","gone"]`,
		"transitions?from=2023-11-14T22:13:20Z&to=1700000010000000000&metric=inq_stall": `"network":{"counts":[[10,0,0,0,0],[0,0,5,0,0],[0,0,0,0,0],[0,0,0,0,0],[0,0,0,0,0]],"probabilities":[[1,0,0,0,0],[0,0,1,0,0],null,null,null]}`,
		"transitions?from=1":             `[0,0.75,0,0.25,0]`,
		"congestion?from=5&to=15":        `{"from_nanos":5,"to_nanos":15,"events":[{"begin_nanos":6,"end_nanos":14,"peak_mean_percent":30}]}`,
		"hotspots?metric=credit_stall":   `"metric":"credit_stall","durations":[{"threshold_percent":15,"spells":7,"median_seconds":60,"p99_seconds":120,"p999_seconds":180}]`,
		"forecasts?to=2023-11-14T22:13Z": "",
		"forecasts":                      `"next":{"forecasts":10,"brier":0.2,"persistence":0.3},"later":{"forecasts":8,"brier":0.5,"persistence":0.9}`,
		"hotspots":                       "",
		"hotspots?metric=throughput":     "",
		"transitions?metric=mystery":     "",
		"congestion?from=yesterday":      "",
	} {
		status := http.StatusOK
		if want == "" {
			status = http.StatusBadRequest
		}
		if body := ask(t, server.URL+"/api/v1/fabrics/"+torus+"/"+query, status); !strings.Contains(body, want) || want == "" && !strings.Contains(body, "bad request") {
			t.Errorf("%s: %s", query, body)
		}
	}
}
