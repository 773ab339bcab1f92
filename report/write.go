package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/giverny/giverny/schema"
)

//go:embed page.html.tmpl
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"day":     func(i schema.Instant) string { return i.Time().Format("2006-01-02") },
	"picture": func(p Plot) template.HTML { return template.HTML(p.SVG()) }, // SVG escapes external text
	"second":  func(i schema.Instant) string { return i.Time().Truncate(time.Second).Format(time.RFC3339) },
	"figure": func(v *float64) string {
		if v == nil {
			return none
		}
		return figure(*v)
	},
	"parameters": func(parameters map[string]any) string {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(parameters)) {
			parts = append(parts, fmt.Sprintf("%s = %v", name, parameters[name]))
		}
		return strings.Join(parts, ", ")
	},
}).Parse(pageText))

// none stands for a missing value.
const none = "–"

func numeric(cell string) bool {
	_, err := strconv.ParseFloat(cell, 64)
	return err == nil || cell == none
}

// Numeric reports whether a column consists of numbers, and is aligned to the right.
func (t *Table) Numeric(column int) bool {
	return !slices.ContainsFunc(t.Rows, func(row []string) bool { return !numeric(row[column]) })
}

// Compared reports whether a number of the section has a published value for Blue Waters.
func (s *Section) Compared() bool {
	return slices.ContainsFunc(s.Numbers, func(n Number) bool { return n.Published != nil })
}

// WriteHTML writes the report as one self-contained page. External names are escaped.
func (r *Report) WriteHTML(w io.Writer) error { return page.Execute(w, r) }

// WriteJSON writes the report as a JSON document (docs/reference/report.md).
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	return encoder.Encode(r)
}

// figure formats a number for display: whole ones in full, others with three or four digits.
func figure(v float64) string {
	switch size := math.Abs(v); {
	case v == math.Trunc(v) && size < 1e15:
		return grouped(int64(v))
	case size >= 1000:
		return grouped(int64(math.Round(v)))
	case size >= 1:
		return fmt.Sprintf("%.4g", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// grouped formats a whole number with commas between thousands.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
