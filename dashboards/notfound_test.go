//go:build engine || integration

package dashboards

import (
	"net/http"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/problem"
	"github.com/giverny/giverny/schema"
)

// Versions and links that do not exist are not found: an empty answer would say that there is no congestion.
func TestVersionsAndLinksThatDoNotExist(t *testing.T) {
	h := open(t, mesh)
	h.store(h.graph(mesh), twoIntervals(h.graph(mesh))...)
	const unknown = "version=0123456789abcdef"
	for path, want := range map[string]string{
		"links/7?metric=credit_stall":                    "no link 7: version VERSION of fabric \"mesh:3x2\" has links 0 to 6; GET /api/v1/fabrics/mesh:3x2/graph?version=VERSION lists them",
		"links/4294967295/history?metric=credit_stall":   "no link 4294967295: version",
		"links/2?metric=credit_stall&" + unknown:         "no version 0123456789abcdef of the graph of fabric \"mesh:3x2\"; graph_version of /api/v1/fabrics/mesh:3x2/snapshot is the newest",
		"links/2/history?metric=credit_stall&" + unknown: "no version 0123456789abcdef",
		"top-links?metric=credit_stall&" + unknown:       "no version 0123456789abcdef",
		"link-values?metrics=credit_stall&" + unknown:    "no version 0123456789abcdef",
		"graph?" + unknown:                               "no version 0123456789abcdef",
	} {
		version := summaryOf(h.fabrics[mesh], h.graph(mesh)).GraphVersion.String()
		got := decode[problem.Problem](t, h.get("fabrics/"+mesh+"/"+path, http.StatusNotFound)).Detail
		if got = strings.ReplaceAll(got, version, "VERSION"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// Regions and jobs of which nothing is known are not found; a span without data of a known one is answered.
func TestRegionsAndJobsThatDoNotExist(t *testing.T) {
	h := open(t, mesh)
	at := busy(h.graph(mesh), noon)
	at.Jobs = []schema.Job{{Fabric: mesh, ID: "7", Nodes: []string{"0,0"}, Start: schema.Instant(noon), State: "RUNNING"}}
	h.store(h.graph(mesh), at)
	for path, want := range map[string]string{
		"tracks/1234":      "no region 1234; GET /api/v1/fabrics/mesh:3x2/tracks lists those of a span",
		"jobs/007/traffic": "no job \"007\" ran between ",
	} {
		if got := decode[problem.Problem](t, h.get("fabrics/"+mesh+"/"+path, http.StatusNotFound)).Detail; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	h.get("fabrics/"+mesh+"/tracks/1234?from=0&to=1000", http.StatusOK)
	h.get("fabrics/"+mesh+"/tracks/1234/collectives", http.StatusOK) // an empty list is an answer
	h.get("fabrics/"+mesh+"/jobs/7/traffic", http.StatusOK)
}
