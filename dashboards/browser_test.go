//go:build integration

package dashboards

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
)

const windowWidth, windowHeight = 1440, 900

// picture is the page as it looks; go test -artifacts keeps it.
func picture(t *testing.T, p *tab) image.Image {
	t.Helper()
	data := p.screenshot()
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), "page.png"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	decoded, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if size := decoded.Bounds().Size(); size != image.Pt(windowWidth, windowHeight) {
		t.Errorf("the screenshot is %v", size)
	}
	return decoded
}

const (
	live = `document.getElementById("status").textContent.endsWith("live")`
	dom  = `document.documentElement.outerHTML`
)

// mapColours counts the colours in the upper left of the page, where the map is.
func mapColours(picture image.Image) int {
	seen := map[[3]uint32]bool{}
	for y := 60; y < windowHeight-110; y++ {
		for x := range windowWidth - 360 {
			r, g, b, _ := picture.At(x, y).RGBA()
			seen[[3]uint32{r >> 8, g >> 8, b >> 8}] = true
		}
	}
	return len(seen)
}

func TestThePageInABrowser(t *testing.T) {
	for _, spec := range []string{"torus:8x8x8", "torus:24x24x24", "fattree:k=8", "dragonfly:groups=9,routers=4,hosts=2", "mesh:12x7"} {
		t.Run(strings.ReplaceAll(spec, ":", "_"), func(t *testing.T) {
			m := &memory{}
			d, server, _ := show(t, m, spec)
			g := d.fabrics[spec].Graph
			n := g.NumLinks()
			regions := []schema.Region{hot(g, 1, schema.High, n/3, n/20), hot(g, 2, schema.Medium, n/2, n/8), hot(g, 3, schema.Low, n/10, n/12)}
			m.put(spec, withHistory(busy(g, noon, regions...)))
			page := open(t, server.URL)
			page.await(live)
			dom := page.eval(dom)
			for _, r := range regions {
				if !strings.Contains(dom, r.Name) || !strings.Contains(dom, r.Severity.String()+": mean") {
					t.Errorf("the page does not list region %s", r.Name)
				}
			}
			for _, text := range []string{"High congestion", "22:13:21 UTC, live", "A cable &lt;b&gt;dies&lt;/b&gt;.", "link failed 0,0,0 X+", "0.25 s", "for 7 s",
				"Congestion event for 3 min", "in 1 s", "High 60%", "Low 50%", "in 5 s: High 20%, Low 50%, gone 30%", "(+3)", "High 90%", "0.7%, 101 s"} {
				if !strings.Contains(dom, text) {
					t.Errorf("the page does not say %q", text)
				}
			}
			for _, text := range []string{"undefined", "NaN", "TypeError", "connection lost", "stale"} {
				if strings.Contains(dom, text) {
					t.Errorf("the page says %q", text)
				}
			}
			if colours := mapColours(picture(t, page)); colours < 30 {
				t.Errorf("the map has %d colours only", colours)
			}
		})
	}
}

// withHistory fills the timeline.
func withHistory(in interval) interval {
	start := in.stored.Interval.StartNanos
	in.states = nil
	for i := range int64(240) {
		s := StateAt{StartNanos: start - (239-i)*second}
		if i > 100 {
			s.Low, s.State = int(i%3), schema.Low
		}
		if i > 180 {
			s.Medium, s.High, s.State = int(i%4), 1, schema.High
		}
		in.states = append(in.states, s)
	}
	return in
}

// Before anything is stored the page waits, which is no error; nor is a store
// that fails for a while.
func TestThePageWaits(t *testing.T) {
	m := &memory{}
	_, server, _ := show(t, m, torus)
	page := open(t, server.URL)
	page.await(`document.getElementById("status").textContent === "waiting for the first interval"`)
	if text := page.eval(dom); strings.Contains(text, "404") || strings.Contains(text, "stale") {
		t.Errorf("an empty store: %s", text)
	}
	picture(t, page)
	m.fail("Latest")
	page = open(t, server.URL)
	page.await(`document.getElementById("status").textContent.includes("" + "disk is on fire")`)
}

// An interval that is stored while the page is open appears without a reload.
func TestThePageFollows(t *testing.T) {
	m := &memory{}
	d, server, _ := show(t, m, torus)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	defer func() { stop(); <-ended }()
	page := open(t, server.URL)
	page.await(`document.getElementById("status").textContent.startsWith("waiting")`)
	m.put(torus, busy(d.fabrics[torus].Graph, noon))
	page.await(live)
}

// The controls and every region can be reached from the keyboard, and a region
// that has the focus is marked as under the mouse.
func TestThePageByKeyboard(t *testing.T) {
	m := &memory{}
	d, server, _ := show(t, m, torus)
	m.put(torus, busy(d.fabrics[torus].Graph, noon, hot(d.fabrics[torus].Graph, 1, schema.High, 0, 30), hot(d.fabrics[torus].Graph, 2, schema.Low, 60, 30)))
	page := open(t, server.URL)
	page.await(live)
	reached := ""
	for range 6 {
		page.press("Tab", 9)
		reached += page.eval(`document.activeElement.id || document.activeElement.tagName`) + " "
	}
	if !strings.HasPrefix(reached, "fabric metric ") || !strings.Contains(reached, "LI LI") {
		t.Errorf("the Tab key reaches %s", reached)
	}
}
