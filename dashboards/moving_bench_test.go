//go:build integration

package dashboards

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/giverny/giverny/schema"
)

// moving moves the map by the keyboard for some seconds, requests a frame at each
// display refresh, and measures the number of frames and the longest time between two.
const moving = `(() => {
	const map = document.getElementById("heat"), began = performance.now();
	let frames = 0, last = began, longest = 0;
	window.moved = "";
	const step = (now) => {
		if (frames > 0) longest = Math.max(longest, now - last);
		last = now;
		frames++;
		map.dispatchEvent(new KeyboardEvent("keydown", { key: frames % 80 < 40 ? "ArrowRight" : "ArrowLeft", bubbles: true }));
		if (now - began < 4000) requestAnimationFrame(step);
		else window.moved = (1000 * frames / (now - began)).toFixed(1) + " " + longest.toFixed(0);
	};
	requestAnimationFrame(step);
})()`

// BenchmarkMovingMap measures the frames per second in a browser without a graphics card while the map moves (the target is 20), the time from
// opening a fabric's address to the picture, the bytes sent for its graph, and the page's heap with its arrays.
func BenchmarkMovingMap(b *testing.B) {
	for _, spec := range []string{"torus:24x24x24", "torus:52x51x50", "fattree:k=64"} {
		b.Run(spec, func(b *testing.B) {
			h := open(b, spec)
			g := h.graph(spec)
			r := busy(g, noon, hot(g, 1, schema.High, g.NumLinks()/3, 60), hot(g, 2, schema.Medium, g.NumLinks()/2, 300))
			h.store(g, r)
			page := browse(b, "about:blank") // the browser itself takes a second
			began := time.Now()
			page.visit(h.url)
			page.await(shown)
			toScreen := time.Since(began)
			number := func(expression string) float64 {
				f, err := strconv.ParseFloat(page.eval(expression), 64)
				if err != nil {
					b.Fatal(expression, err)
				}
				return f
			}
			var frames, longest float64
			for b.Loop() {
				page.eval(moving)
				page.await(`window.moved !== ""`)
				if _, err := fmt.Sscan(page.eval("window.moved"), &frames, &longest); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(toScreen.Milliseconds()), "ms-to-screen")
			b.ReportMetric(number(`performance.getEntriesByType("resource").filter((r) => r.name.includes("/graph")).reduce((sum, r) => sum + r.encodedBodySize, 0) / 1e6`), "MB-graph")
			b.ReportMetric(frames, "frames/s")
			b.ReportMetric(longest, "ms-longest-frame")
			var usage struct{ UsedSize, BackingStorageSize float64 }
			page.call("HeapProfiler.collectGarbage", nil, nil)
			page.call("Runtime.getHeapUsage", nil, &usage)
			b.ReportMetric((usage.UsedSize+usage.BackingStorageSize)/1e6, "MB-heap")
			b.ReportMetric(0, "ns/op")
		})
	}
}
