package draw_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
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
			if l.Kind == hostping.InterSocket && !busEndsAtSockets(svg, l.ID) {
				t.Errorf("%s: %s does not end at its sockets", m.Name, l.ID)
			}
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

// A GPU and an RNIC that are functions of one card are reached over the card's link, and
// drawn at its end.
// busEndsAtSockets reports whether the line of a bus begins and ends in the middle of boxes of sockets, of 84 by 30.
func busEndsAtSockets(svg, bus string) bool {
	number := `[0-9.]+`
	line := regexp.MustCompile(`<(?:line x1="(` + number + `)" y1="(` + number + `)" x2="(` + number + `)" y2="(` + number + `)"|polyline points="(` + number + `),(` + number + `) [^"]* (` + number + `),(` + number + `)")[^>]*><title>` + regexp.QuoteMeta(bus) + ` `)
	at := line.FindStringSubmatch(svg)
	if at == nil {
		return false
	}
	ends := slices.DeleteFunc(at[1:], func(s string) bool { return s == "" })
	for i := 0; i < 4; i += 2 {
		x, _ := strconv.ParseFloat(ends[i], 64)
		y, _ := strconv.ParseFloat(ends[i+1], 64)
		if !regexp.MustCompile(fmt.Sprintf(`<title>socket\d+</title><rect x="%.1f" y="%.1f"`, x-42, y-15)).MatchString(svg) {
			return false
		}
	}
	return true
}

func TestFunctionsOfOneCard(t *testing.T) {
	g, err := hostping.ReadGraph("host.xml", []byte(`<topology version="2.0"><object type="Machine" cpuset="0x1"><object type="Package" os_index="0" cpuset="0x1">
<object type="NUMANode" os_index="0" cpuset="0x1"/><object type="Bridge" bridge_type="0-1">
<object type="PCIDev" pci_busid="0000:06:00.0" pci_type="0302 [10de:2330]"><object type="OSDev" name="nvml0" osdev_type="1"/></object>
<object type="PCIDev" pci_busid="0000:06:00.1" pci_type="0207 [15b3:1021]"><object type="OSDev" name="mlx5_0" osdev_type="3"/></object>
</object></object></object></topology>`), hostping.Hwloc)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range g.Paths {
		if len(p.Links) == 0 || p.Links[0] != "pci:gpu0" {
			t.Errorf("%s to %s by %q", p.RNIC, p.Endpoint, p.Links)
		}
	}
	if text := draw.Text(&g); !strings.Contains(text, "gpu0 mlx5_0") {
		t.Error(text)
	}
}
