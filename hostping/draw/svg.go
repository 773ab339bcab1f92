package draw

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/giverny/giverny/hostping"
)

// Sizes in SVG units.
const (
	columnWidth, rowHeight = 92., 74.
	boxWidth, boxHeight    = 84., 30.
	margin                 = 16.
)

// SVG draws a graph: memory nodes above their socket, PCIe below it, buses between the sockets. Accused links, by id,
// are red and thick. The SVG loads nothing and has no script.
func SVG(g *hostping.Graph, accused []string) string {
	h := trees(g)
	p := &painter{accused: accused}
	columns, depth := 0, 0
	for _, s := range h.sockets {
		s.width = max(s.width, len(h.memory[s.name]))
		columns += s.width
		depth = max(depth, deepest(s))
	}
	middle := map[string]float64{}
	left := margin
	for _, s := range h.sockets {
		middle[s.name] = p.socket(s, h.memory[s.name], left)
		left += float64(s.width) * columnWidth
	}
	order := map[string]int{}
	for i, s := range h.sockets {
		order[s.name] = i
	}
	for i, l := range h.buses {
		a, b, socket := middle[l.A], middle[l.B], margin+1.5*rowHeight
		if d := order[l.A] - order[l.B]; d == 1 || d == -1 {
			p.line(l, a, socket, b, socket)
			continue
		}
		p.under(l, a, b, socket, socket+boxHeight+6+float64(i%3)*5)
	}
	width, height := 2*margin+float64(max(1, columns))*columnWidth, 2*margin+(2.5+float64(depth))*rowHeight
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-label="host graph" font-family="sans-serif" font-size="11">`+
		"\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n%s%s</svg>\n", width, height, width, height, p.lines.String(), p.boxes.String())
}

func deepest(v *vertex) int {
	depth := v.depth
	for _, c := range v.children {
		depth = max(depth, deepest(c))
	}
	return depth
}

// painter collects the lines, and the boxes drawn on top of them.
type painter struct {
	accused      []string
	lines, boxes strings.Builder
}

// socket draws a socket with everything attached, and returns the middle of its box.
func (p *painter) socket(s *vertex, memory []*vertex, left float64) float64 {
	x := left + float64(s.width)*columnWidth/2
	y := margin + 1.5*rowHeight
	for i, m := range memory {
		at := x + (float64(i)-float64(len(memory)-1)/2)*columnWidth
		p.line(m.link, at, margin+boxHeight/2, x, y)
		p.box(m.name, at, margin+boxHeight/2, "#e8f1e4")
	}
	p.below(s, left, x, y)
	p.box(s.name, x, y, "#e9edf2")
	return x
}

// below draws the children of a vertex at x, y in the columns from left on.
func (p *painter) below(v *vertex, left, x, y float64) {
	for _, c := range v.children {
		at := left + float64(c.width)*columnWidth/2
		p.line(c.link, x, y, at, y+rowHeight)
		p.below(c, left, at, y+rowHeight)
		fill := "#f4f1e6"
		switch {
		case len(c.children) > 0:
			fill = "#f3f4f6"
		case strings.HasPrefix(c.name, "gpu"):
			fill = "#e5effa"
		}
		p.box(c.name, at, y+rowHeight, fill)
		left += float64(c.width) * columnWidth
	}
}

// line draws a link between two centres.
func (p *painter) line(l hostping.Link, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&p.lines, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s><title>%s (%s)</title></line>\n", x1, y1, x2, y2, p.stroke(l), html.EscapeString(l.ID), l.Kind)
}

// under draws a link between two centres at one height that passes below what is between them.
func (p *painter) under(l hostping.Link, x1, x2, y, below float64) {
	fmt.Fprintf(&p.lines, "<polyline points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f\" fill=\"none\" %s><title>%s (%s)</title></polyline>\n",
		x1, y, x1, below, x2, below, x2, y, p.stroke(l), html.EscapeString(l.ID), l.Kind)
}

func (p *painter) stroke(l hostping.Link) string {
	if slices.Contains(p.accused, l.ID) {
		return `stroke="#c9252d" stroke-width="4"`
	}
	return `stroke="#8893a0" stroke-width="1.5"`
}

// shownName is how many letters fit into a box.
const shownName = 13

func (p *painter) box(name string, x, y float64, fill string) {
	short := strings.TrimPrefix(name, "switch-")
	if len(short) > shownName {
		short = short[:shownName-1] + "…"
	}
	fmt.Fprintf(&p.boxes, "<g><title>%s</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\" rx=\"5\" fill=\"%s\" stroke=\"#8893a0\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"#1d2733\">%s</text></g>\n",
		html.EscapeString(name), x-boxWidth/2, y-boxHeight/2, boxWidth, boxHeight, fill, x, y+4, html.EscapeString(short))
}
