package draw_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/draw"
	"github.com/giverny/giverny/hostping/simulated"
)

// Every link is drawn once, and the accused one in red; the SVG is well formed and loads nothing.
func TestDrawings(t *testing.T) {
	for _, m := range simulated.Machines() {
		g, err := hostping.ReadGraph(m.Name, []byte(m.XML()), hostping.Auto)
		if err != nil {
			t.Fatal(err)
		}
		text, svg := draw.Text(&g), draw.SVG(&g, []string{g.Links[2].ID})
		for _, l := range g.Links {
			if n := strings.Count(text, " "+l.ID+"\n"); n != 1 {
				t.Errorf("%s: %s is %d times in the text", m.Name, l.ID, n)
			}
			if n := strings.Count(svg, "<title>"+l.ID+" ("); n != 1 {
				t.Errorf("%s: %s is %d times in the SVG", m.Name, l.ID, n)
			}
		}
		if n := strings.Count(svg, "#c9252d"); n != 1 || !strings.Contains(svg, `stroke="#c9252d" stroke-width="4"><title>`+g.Links[2].ID) {
			t.Errorf("%s: %d red lines", m.Name, n)
		}
		if strings.Contains(svg, "<script") || strings.Contains(svg, "href") {
			t.Errorf("%s: the SVG loads something", m.Name)
		}
		wellFormed(t, svg)
	}
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
