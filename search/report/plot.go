package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"github.com/giverny/giverny/internal/svg"
	"github.com/giverny/giverny/search"
)

// Sizes of a plot and its margins, in SVG units.
const (
	plotWidth, plotHeight = 900., 240.
	left, right           = 60., 20.
	top, bottom           = 30., 40.
)

// axes maps a plot's data to coordinates.
type axes struct {
	maxX, maxY float64
	b          strings.Builder
}

func (a *axes) x(v float64) float64 { return left + (plotWidth-left-right)*v/a.maxX }
func (a *axes) y(v float64) float64 { return plotHeight - bottom - (plotHeight-top-bottom)*v/a.maxY }

// newAxes draws the frame of a plot over experiments. Titles are constants of this package, never an engine's text.
func newAxes(title string, maxX, maxY float64) *axes {
	a := &axes{maxX: max(1, maxX), maxY: max(1, maxY)}
	fmt.Fprintf(&a.b, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s" font-size="12" fill="#55606c">`, plotWidth, plotHeight, title)
	fmt.Fprintf(&a.b, `<text x="%g" y="16" font-size="14" fill="#1d2733">%s</text>`, left, title)
	fmt.Fprintf(&a.b, `<text x="%g" y="%g" text-anchor="end">experiments</text>`, plotWidth-right, plotHeight-6)
	for _, v := range svg.Ticks(a.maxX) {
		fmt.Fprintf(&a.b, `<text x="%.1f" y="%g" text-anchor="middle">%g</text>`, a.x(v), plotHeight-bottom+16, v)
	}
	for _, v := range svg.Ticks(a.maxY) {
		fmt.Fprintf(&a.b, `<text x="%g" y="%.1f" text-anchor="end">%g</text><line x1="%g" x2="%g" y1="%.1f" y2="%.1f" stroke="#e3e7eb"/>`,
			left-8, a.y(v)+4, v, left, plotWidth-right, a.y(v), a.y(v))
	}
	return a
}

func (a *axes) svg() template.HTML {
	return template.HTML(a.b.String() + "</svg>") // numbers and texts of this package
}

// plots shows the anomalies found over the experiments, and each experiment's rates.
func plots(p *page, experiments []search.Measurement) []template.HTML {
	n := float64(p.Experiments)
	list := []template.HTML{foundPlot(n, p.Standing)}
	if len(experiments) > 0 {
		list = append(list, seenPlot(&p.Description, n, experiments))
	}
	return list
}

// foundPlot has a step at each anomaly's first experiment. standing is in that order.
func foundPlot(experiments float64, standing []finding) template.HTML {
	a := newAxes("anomalies found", experiments, float64(len(standing)))
	fmt.Fprintf(&a.b, `<path fill="none" stroke="#1f6fb2" stroke-width="2" d="M%.1f %.1f`, a.x(0), a.y(0))
	for i, f := range standing {
		fmt.Fprintf(&a.b, "H%.1fV%.1f", a.x(float64(f.Experiment)), a.y(float64(i+1)))
	}
	fmt.Fprintf(&a.b, `H%.1f"/>`, a.x(experiments))
	return a.svg()
}

// seenPlot has a dot per experiment: the worst direction's rate as a share of the line
// rate, and the pause, if any.
func seenPlot(d *search.Description, n float64, experiments []search.Measurement) template.HTML {
	a := newAxes("throughput of the worse direction, % of line rate (blue), and pause, % of time (red)", n, 100)
	for i, m := range experiments {
		if m.Status != search.OK {
			continue
		}
		rate, pause := math.Inf(1), 0.
		for _, dir := range m.Directions {
			rate = min(rate, dir.Gbps)
		}
		for _, p := range m.TxPausePercent {
			pause = max(pause, p)
		}
		x := a.x(float64(i + 1))
		fmt.Fprintf(&a.b, `<circle cx="%.1f" cy="%.1f" r="1.5" fill="#1f6fb2" fill-opacity=".5"/>`, x, a.y(min(100, 100*rate/d.LineRateGbps)))
		if pause > 0 {
			fmt.Fprintf(&a.b, `<circle cx="%.1f" cy="%.1f" r="1.8" fill="#c0392b"/>`, x, a.y(min(100, pause)))
		}
	}
	return a.svg()
}
