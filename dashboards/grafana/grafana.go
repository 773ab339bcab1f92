// Package grafana generates the dashboards that deploy/compose provisions in Grafana,
// JSON files beside this one, from the panels below: queries to ClickHouse and
// Prometheus. It connects to neither.
package grafana

import "encoding/json"

//go:generate go test . -run TestDashboardsAreCurrent -update

// The data sources that deploy/compose/grafana/provisioning names.
var (
	clickHouse = source{"grafana-clickhouse-datasource", "giverny-clickhouse"}
	prometheus = source{"prometheus", "giverny-prometheus"}
)

type source struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// dashboard is the part of Grafana's classic dashboard model (schema version 39) that is used.
type dashboard struct {
	UID           string         `json:"uid"`
	Title         string         `json:"title"`
	Tags          []string       `json:"tags"`
	Timezone      string         `json:"timezone"`
	SchemaVersion int            `json:"schemaVersion"`
	Refresh       string         `json:"refresh,omitempty"`
	Time          timeRange      `json:"time"`
	Templating    map[string]any `json:"templating"`
	Panels        []panel        `json:"panels"`
}

type timeRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type panel struct {
	ID          int            `json:"id"`
	Title       string         `json:"title"`
	Description string         `json:"description,omitempty"`
	Type        string         `json:"type"`
	GridPos     place          `json:"gridPos"`
	Datasource  source         `json:"datasource"`
	Targets     []target       `json:"targets"`
	FieldConfig map[string]any `json:"fieldConfig"`
	Options     map[string]any `json:"options"`
}

type place struct {
	X int `json:"x"`
	Y int `json:"y"`
	W int `json:"w"`
	H int `json:"h"`
}

type target struct {
	RefID      string `json:"refId"`
	Datasource source `json:"datasource"`
	// To ClickHouse.
	RawSQL     string `json:"rawSql,omitempty"`
	Format     *int   `json:"format,omitempty"` // 0: a time series, 1: a table
	QueryType  string `json:"queryType,omitempty"`
	EditorType string `json:"editorType,omitempty"`
	// To Prometheus.
	Expr         string `json:"expr,omitempty"`
	LegendFormat string `json:"legendFormat,omitempty"`
}

// view is a panel in the terms of this package: SQL, or PromQL expressions with legends.
type view struct {
	title, about string
	kind         string // timeseries, table, barchart
	unit         string
	width        int // of 24
	stacked      bool
	sql          string
	expressions  [][2]string // expression, legend
}

// files returns the dashboards by file name.
func files() map[string]dashboard {
	return map[string]dashboard{
		"giverny-fabric.json":  layOut("giverny-fabric", "Giverny: congestion regions", "30s", timeRange{"now-6h", "now"}, live),
		"giverny-history.json": layOut("giverny-history", "Giverny: months of congestion", "", timeRange{"now-150d", "now"}, history),
	}
}

// height of a panel in Grafana's grid, whose width is 24: three rows of panels fit on a screen.
const height = 8

// layOut places views from left to right and from top to bottom.
func layOut(uid, title, refresh string, span timeRange, views []view) dashboard {
	d := dashboard{UID: uid, Title: title, Tags: []string{"giverny"}, Timezone: "utc", SchemaVersion: 39, Refresh: refresh, Time: span,
		Templating: map[string]any{"list": []any{map[string]any{"name": "fabric", "type": "query", "datasource": clickHouse, "query": "SELECT DISTINCT fabric FROM giverny.fabrics", "refresh": 1}}}}
	x, y := 0, 0
	for i, v := range views {
		if x+v.width > 24 {
			x, y = 0, y+height
		}
		d.Panels = append(d.Panels, v.panel(i+1, place{x, y, v.width, height}))
		x += v.width
	}
	return d
}

func (v *view) panel(id int, at place) panel {
	custom := map[string]any{}
	if v.stacked {
		custom = map[string]any{"fillOpacity": 60, "stacking": map[string]any{"mode": "normal"}}
	}
	p := panel{ID: id, Title: v.title, Description: v.about, Type: v.kind, GridPos: at, Datasource: clickHouse,
		FieldConfig: map[string]any{"defaults": map[string]any{"unit": v.unit, "custom": custom}, "overrides": []any{}}, Options: map[string]any{}}
	if v.sql != "" {
		format, queryType := 1, "table"
		if v.kind == "timeseries" {
			format, queryType = 0, "timeseries"
		}
		p.Targets = []target{{RefID: "A", Datasource: clickHouse, RawSQL: v.sql, Format: &format, QueryType: queryType, EditorType: "sql"}}
		return p
	}
	p.Datasource = prometheus
	for i, e := range v.expressions {
		p.Targets = append(p.Targets, target{RefID: string(rune('A' + i)), Datasource: prometheus, Expr: e[0], LegendFormat: e[1]})
	}
	return p
}

// render returns a dashboard's file.
func render(d dashboard) ([]byte, error) {
	text, err := json.MarshalIndent(d, "", " ")
	return append(text, '\n'), err
}
