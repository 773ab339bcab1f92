// Package draw renders a diagnosed run, with ranks by time, their steps and the
// critical path, as an SVG picture or as Chrome trace events for Perfetto. The input is
// a collective.Run and its Diagnosis, the output the text of the file.
package draw

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/internal/svg"
)

// maxDrawn is how many steps a picture shows; beyond that only those of the critical
// path are drawn.
const maxDrawn = 20_000

// Sizes of the picture in pixels.
const (
	width, left, right, top, row = 1200, 120, 50, 60, 22
)

// kinds are the box types with their colours.
var kinds = []struct {
	kind       collective.SegmentKind
	fill, name string
}{{collective.Transfer, "#c2410c", "transfer on the critical path"}, {collective.Compute, "#7c3aed", "compute on it"}, {collective.Wait, "#facc15", "wait on it"},
	{"", "#d5dbe3", "other transfer"}}

// SVG writes the timeline: a row per rank, a box per transfer, those of the critical
// path in colour.
func SVG(out io.Writer, run collective.Run, d collective.Diagnosis) error {
	w := bufio.NewWriter(out)
	rows, order := rowsOf(run, d)
	height := top + row*len(order) + 20*len(d.Culprits) + 40
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintf(w, `<rect width="%d" height="%d" fill="white"/><text x="10" y="22" font-size="15">%s</text>`+"\n", width, height, escape(title(d)))
	for i, rank := range order {
		fmt.Fprintf(w, `<text x="10" y="%d">%s</text>`+"\n", top+row*i+15, escape(fmt.Sprintf("rank %d (%s)", rank, run.Ranks[rank].Node)))
	}
	scale := newScale(d.MakespanNanos)
	axis(w, scale, top+row*len(order)+4)
	fills := legend(w)
	if len(run.Steps) <= maxDrawn {
		offset := d.Offsets()
		for _, s := range run.Steps {
			if y, ok := rows[int(s.Rank)]; ok && s.EndNanos > s.BeginNanos {
				shift := offset[int(s.Rank)] + d.FirstNanos
				box(w, scale, y, s.BeginNanos-shift, s.EndNanos-shift, fills[""], "#8894a4", "")
			}
		}
	}
	for _, s := range d.CriticalPath {
		about := fmt.Sprintf("rank %d step %d, %s, %.6f ms", s.Rank, s.Step, s.Kind, float64(s.EndNanos-s.BeginNanos)/1e6)
		box(w, scale, rows[s.Rank], s.BeginNanos, s.EndNanos, fills[s.Kind], "#5b1f06", about)
	}
	for i, c := range d.Culprits {
		fmt.Fprintf(w, `<text x="10" y="%d">%s</text>`+"\n", top+row*len(order)+44+20*i, escape(fmt.Sprintf("%s %s at %s: %.3f ms", c.Class, c.Flow, c.Object, float64(c.CostNanos)/1e6)))
	}
	fmt.Fprintln(w, "</svg>")
	return w.Flush()
}

// legend writes the legend, and returns the colours.
func legend(w io.Writer) map[collective.SegmentKind]string {
	fills := map[collective.SegmentKind]string{}
	for i, k := range kinds {
		x := left + 240*i
		fmt.Fprintf(w, `<rect x="%d" y="32" width="14" height="14" fill="%s"/><text x="%d" y="44">%s</text>`+"\n", x, k.fill, x+20, k.name)
		fills[k.kind] = k.fill
	}
	return fills
}

// rowsOf assigns a row to each drawn rank: all ranks, or only those of the critical
// path if there are many.
func rowsOf(run collective.Run, d collective.Diagnosis) (rows map[int]int, order []int) {
	rows = map[int]int{}
	add := func(rank int) {
		if _, ok := rows[rank]; !ok {
			rows[rank] = len(order)
			order = append(order, rank)
		}
	}
	if len(run.Ranks) <= 64 {
		for rank := range run.Ranks {
			add(rank)
		}
	}
	for _, s := range d.CriticalPath {
		if len(order) < 64 || len(run.Ranks) <= 64 {
			add(s.Rank)
		}
	}
	return rows, order
}

func title(d collective.Diagnosis) string {
	return fmt.Sprintf("%d ranks, %d steps, makespan %.6f ms", d.Ranks, d.Steps, float64(d.MakespanNanos)/1e6)
}

type scale struct{ nanos int64 }

func newScale(nanos int64) scale { return scale{max(nanos, 1)} }

func (s scale) x(nanos int64) float64 {
	return left + float64(nanos)/float64(s.nanos)*(width-left-right)
}

func box(w io.Writer, s scale, y int, from, to int64, fill, stroke, about string) {
	fmt.Fprintf(w, `<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s" stroke="%s" stroke-width="0.5">`, s.x(from), top+row*y, s.x(to)-s.x(from), row-4, fill, stroke)
	if about != "" {
		fmt.Fprintf(w, "<title>%s</title>", escape(about))
	}
	fmt.Fprintln(w, "</rect>")
}

func axis(w io.Writer, s scale, y int) {
	for _, at := range svg.Ticks(float64(s.nanos)) {
		x := s.x(int64(at))
		fmt.Fprintf(w, `<line x1="%.2f" x2="%.2f" y1="%d" y2="%d" stroke="#e5e7eb"/><text x="%.2f" y="%d" text-anchor="middle">%.4g ms</text>`+"\n", x, x, top, y, x, y+14, at/1e6)
	}
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a builder takes every write
	return b.String()
}
