//go:build engine || integration

package dashboards

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/giverny/giverny/dashboards/operation"
	"github.com/giverny/giverny/schema"
)

// BenchmarkSnapshot writes one metric of Blue Waters' 41,472 links in either format and reports the size.
func BenchmarkSnapshot(b *testing.B) {
	const links = 41_472
	series := schema.Series{Metric: schema.CreditStall, Values: make([]float32, links), Valid: schema.NewBitmap(links)}
	for l := range series.Values {
		series.Values[l] = float32(l*l%9973) / 100
		series.Valid.Set(l)
	}
	s := &snapshot{links: links, series: []schema.Series{series}, Values: map[string][]percent{"credit_stall": make([]percent, links)}}
	for l, v := range series.Values {
		s.Values["credit_stall"][l] = percent(v)
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"json":  func(out *bytes.Buffer) error { return json.NewEncoder(out).Encode(s) },
		"arrow": func(out *bytes.Buffer) error { return s.WriteTable(out, operation.ArrowStream) },
	} {
		b.Run(name+"/links=41472", func(b *testing.B) {
			var out bytes.Buffer
			for b.Loop() {
				out.Reset()
				if err := write(&out); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(out.Len()), "bytes/answer")
			b.ReportMetric(links/b.Elapsed().Seconds()*float64(b.N), "links/s")
		})
	}
}
