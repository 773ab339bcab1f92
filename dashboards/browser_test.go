//go:build integration

package dashboards

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
)

const windowWidth, windowHeight = 1440, 900

// browse opens a page in a new Chromium until it has settled. The page is to
// work where there is no way out: every other host is unknown.
func browse(t *testing.T, url string, action ...string) (stdout []byte) {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("%v; install it with: make deps-test", err)
	}
	args := append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--hide-scrollbars", "--user-data-dir=" + t.TempDir(), "--window-size=1440,900",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--virtual-time-budget=4000"}, action...)
	cmd := exec.Command(chromium, append(args, url)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if stdout, err = cmd.Output(); err != nil {
		t.Fatalf("chromium: %v\n%s", err, stderr.String())
	}
	return stdout
}

// screenshot is the page as it looks; go test -artifacts keeps it.
func screenshot(t *testing.T, url string) image.Image {
	t.Helper()
	path := filepath.Join(t.ArtifactDir(), "page.png")
	browse(t, url, "--screenshot="+path)
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	picture, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	if size := picture.Bounds().Size(); size != image.Pt(windowWidth, windowHeight) {
		t.Errorf("the screenshot is %v", size)
	}
	return picture
}

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
			dom := string(browse(t, server.URL, "--dump-dom"))
			for _, r := range regions {
				if !strings.Contains(dom, r.Name) || !strings.Contains(dom, r.Severity.String()+": mean") {
					t.Errorf("the page does not list region %s", r.Name)
				}
			}
			for _, text := range []string{"High congestion", "22:13:21 UTC, live", "A cable &lt;b&gt;dies&lt;/b&gt;.", "link failed 0,0,0 X+", "0.25 s", "for 7 s"} {
				if !strings.Contains(dom, text) {
					t.Errorf("the page does not say %q", text)
				}
			}
			for _, text := range []string{"undefined", "NaN", "TypeError", "connection lost", "stale"} {
				if strings.Contains(dom, text) {
					t.Errorf("the page says %q", text)
				}
			}
			if colours := mapColours(screenshot(t, server.URL)); colours < 30 {
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
	dom := string(browse(t, server.URL, "--dump-dom"))
	if !strings.Contains(dom, "waiting for the first interval") || strings.Contains(dom, "404") || strings.Contains(dom, "stale") {
		t.Errorf("an empty store: %s", dom)
	}
	screenshot(t, server.URL)
	m.fail("Latest")
	dom = string(browse(t, server.URL, "--dump-dom"))
	if !strings.Contains(dom, errStore.Error()) {
		t.Errorf("a failing store: %s", dom)
	}
}

// Every region can be reached and marked from the keyboard.
func TestThePageByKeyboard(t *testing.T) {
	m := &memory{}
	d, server, _ := show(t, m, torus)
	g := d.fabrics[torus].Graph
	m.put(torus, busy(g, noon, hot(g, 1, schema.High, 0, 30)))
	dom := string(browse(t, server.URL, "--dump-dom"))
	_, list, _ := strings.Cut(dom, `<ol id="regions">`)
	if !strings.Contains(list[:200], `tabindex="0"`) {
		t.Errorf("a region takes no focus: %.200s", list)
	}
	if strings.Count(dom, "aria-label=") < 3 || !strings.Contains(dom, `role="status"`) {
		t.Error("parts of the page have no name for who cannot see it")
	}
}
