//go:build integration

package dashboards

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/giverny/giverny/schema"
)

// BenchmarkFromStoreToPixel measures the time from storing an interval to seeing it in a real browser: the stream
// announces it, the page asks for it and paints it. The target is a median of a second.
func BenchmarkFromStoreToPixel(b *testing.B) {
	for _, of := range []struct {
		spec  string
		links int
	}{{torus, 192}, {"fattree:k=8", 768}, {"torus:24x24x24", 41_472}} {
		b.Run(fmt.Sprintf("links=%d", of.links), func(b *testing.B) {
			h := open(b, of.spec)
			g := h.graph(of.spec)
			start := noon
			h.announce(busy(g, start))
			page := browse(b, h.url)
			page.await(shown)
			var took []time.Duration
			for b.Loop() {
				start += second
				r := busy(g, start, hot(g, uint64(start/second), schema.High, 0, 30))
				h.store(g, r)
				stored := time.Now()
				if err := h.Put(b.Context(), r); err != nil {
					b.Fatal(err)
				}
				page.await(fmt.Sprintf(`document.documentElement.dataset.shown === %q`, time.Unix(0, start).UTC().Format(time.RFC3339)))
				took = append(took, time.Since(stored))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "ms-median")
			b.ReportMetric(float64(took[len(took)-1].Milliseconds()), "ms-max")
		})
	}
}
