package grafana

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

var update = flag.Bool("update", false, "write the dashboards")

func TestDashboardsAreCurrent(t *testing.T) {
	made := files()
	for name, d := range made {
		text, err := render(d)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(name, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		there, err := os.ReadFile(name)
		if err != nil || !bytes.Equal(there, text) {
			t.Errorf("%s is out of date, %v: run go generate ./dashboards/grafana", name, err)
		}
	}
	there, err := filepath.Glob("*.json")
	if err != nil || len(there) != len(made) {
		t.Errorf("the folder holds %v, %v", there, err)
	}
}

// Every panel has a title of its own, is within the grid, overlaps no other, and has a
// query.
func TestPanelsFit(t *testing.T) {
	for name, d := range files() {
		titles, taken := map[string]bool{}, map[[2]int]bool{}
		for _, p := range d.Panels {
			if p.Title == "" || titles[p.Title] || len(p.Targets) == 0 || p.GridPos.X < 0 || p.GridPos.X+p.GridPos.W > 24 || p.GridPos.W <= 0 {
				t.Errorf("%s: panel %d %q at %+v", name, p.ID, p.Title, p.GridPos)
			}
			titles[p.Title] = true
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				if taken[[2]int{x, p.GridPos.Y}] {
					t.Errorf("%s: panel %q lies over another", name, p.Title)
				}
				taken[[2]int{x, p.GridPos.Y}] = true
			}
			for _, target := range p.Targets {
				if (target.RawSQL == "") == (target.Expr == "") || target.Datasource != p.Datasource {
					t.Errorf("%s: panel %q asks %+v", name, p.Title, target)
				}
			}
		}
	}
}

var timeFilter = regexp.MustCompile(`\$__timeFilter\(([\w.]+)\)`)

// expand does what Grafana and its ClickHouse plug-in do with variables and macros.
func expand(sql, fabric string) string {
	sql = timeFilter.ReplaceAllString(sql, "$1 >= toDateTime(0) AND $1 <= toDateTime(4000000000)")
	return strings.ReplaceAll(sql, "${fabric:sqlstring}", "'"+strings.ReplaceAll(fabric, "'", "''")+"'")
}

func runs(t *testing.T, conn driver.Conn, sql string) error {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

var (
	metricName  = regexp.MustCompile(`giverny_\w+`)
	metricRow   = regexp.MustCompile("(?m)^\\| `(giverny_\\w+)` \\| ([^|]*) \\|")
	legendLabel = regexp.MustCompile(`\{\{(\w+)\}\}`)
	filterLabel = regexp.MustCompile(`(\w+)="`)
)

// labelsOfMetrics returns the labels of each metric, from the reference.
func labelsOfMetrics(t *testing.T) map[string][]string {
	t.Helper()
	reference, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{}
	for _, row := range metricRow.FindAllStringSubmatch(string(reference), -1) {
		labels[row[1]] = strings.Split(row[2], ", ")
	}
	return labels
}

// The queries to Prometheus name metrics and labels that exist: Grafana draws a curve for an unknown label too,
// without a name.
func TestEveryMetricAndLabelIsKnown(t *testing.T) {
	labels := labelsOfMetrics(t)
	asked := 0
	for name, d := range files() {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				for _, metric := range metricName.FindAllString(target.Expr, -1) {
					asked++
					if labels[metric] == nil {
						t.Errorf("%s: %s: no metric %s", name, p.Title, metric)
						continue
					}
					for _, label := range append(legendLabel.FindAllStringSubmatch(target.LegendFormat, -1), filterLabel.FindAllStringSubmatch(target.Expr, -1)...) {
						if !slices.Contains(labels[metric], label[1]) {
							t.Errorf("%s: %s: %s has no label %s, it has %v", name, p.Title, metric, label[1], labels[metric])
						}
					}
				}
			}
		}
	}
	if asked == 0 {
		t.Error("Prometheus is asked nothing")
	}
}
