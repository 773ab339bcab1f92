package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/giverny/giverny/schema"
)

//go:embed page.html.tmpl
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"day":     func(i schema.Instant) string { return i.Time().Format("2006-01-02") },
	"picture": func(p Plot) template.HTML { return template.HTML(p.SVG()) }, // SVG escapes what comes from outside
	"figure": func(v *float64) string {
		if v == nil {
			return "–"
		}
		return fmt.Sprintf("%.5g", *v)
	},
	"parameters": func(parameters map[string]any) string {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(parameters)) {
			parts = append(parts, fmt.Sprintf("%s = %v", name, parameters[name]))
		}
		return strings.Join(parts, ", ")
	},
}).Parse(pageText))

// WriteHTML writes the report as one page that needs nothing else. Names that come from
// outside are escaped.
func (r *Report) WriteHTML(w io.Writer) error { return page.Execute(w, r) }

// WriteJSON writes the report as a JSON document (docs/reference/report.md).
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	return encoder.Encode(r)
}
