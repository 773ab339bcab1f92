package report

import (
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/giverny/giverny/internal/svg"
)

// Geometry of a plot, in units of its view box.
const (
	plotWidth, plotHeight = 720., 260.
	left, right           = 62., 8.
	top, bottom           = 8., 46.
)

// canvas writes an SVG image. Text is escaped; colours are classes of the page's style.
type canvas struct {
	strings.Builder
	low, high float64 // of the y axis
	log       bool
}

func (c *canvas) y(v float64) float64 {
	low, high := c.low, c.high
	if c.log {
		v, low, high = math.Log10(max(v, c.low)), math.Log10(low), math.Log10(high)
	}
	return plotHeight - bottom - (v-low)/(high-low)*(plotHeight-top-bottom)
}

func (c *canvas) text(x, y float64, anchor, text string) {
	fmt.Fprintf(c, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, y, anchor, html.EscapeString(text))
}

func (c *canvas) rect(x, y, width, height float64, class, title string) {
	fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="%s"><title>%s</title></rect>`, x, y, width, max(0, height), class, html.EscapeString(title))
}

func (c *canvas) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(c, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>`, x1, y1, x2, y2, class)
}

// SVG draws the plot. It has a title and a description for screen readers; the JSON form
// has the same data.
func (p *Plot) SVG() string {
	c := &canvas{}
	c.low, c.high, c.log = p.reach()
	about := p.Title + ": " + p.YLabel
	if p.XLabel != "" {
		about += " by " + p.XLabel
	}
	fmt.Fprintf(c, `<svg viewBox="0 0 %.0f %.0f" role="img" aria-label="%s"><title>%s</title>`, plotWidth, plotHeight, html.EscapeString(about), html.EscapeString(p.Title))
	p.axes(c)
	switch p.Kind {
	case Boxes:
		p.drawBoxes(c)
	case Lines:
		p.drawLines(c)
	default:
		p.drawBars(c)
	}
	c.WriteString("</svg>")
	return c.String()
}

// reach returns the range and scale of the y axis.
func (p *Plot) reach() (low, high float64, log bool) {
	least := math.Inf(1)
	see := func(v float64) {
		high = max(high, v)
		if v > 0 {
			least = min(least, v)
		}
	}
	for place := range p.X {
		sum := 0.0
		for _, s := range p.Series {
			if v := s.Values[place]; v != nil {
				see(*v)
				sum += *v
			}
		}
		if p.Kind == Stacked {
			see(sum)
		}
	}
	for _, b := range p.Boxes {
		if b.N > 0 {
			see(b.Min)
			see(b.Max)
		}
	}
	if high <= 0 {
		return 0, 1, false
	}
	if p.LogY {
		low, high = math.Pow(10, math.Floor(math.Log10(least))), math.Pow(10, math.Ceil(math.Log10(high)))
		if low == least {
			low /= 2 // so that the smallest bar is visible
		}
		return low, max(high, 10*low), true
	}
	if p.Kind == Stacked {
		return 0, high, false
	}
	return 0, high * 1.05, false
}

func (p *Plot) axes(c *canvas) {
	for _, v := range c.ticks() {
		c.line(left, c.y(v), plotWidth-right, c.y(v), "grid")
		c.text(left-5, c.y(v)+4, "end", figure(v))
	}
	fmt.Fprintf(c, `<text transform="translate(13 %.0f) rotate(-90)" text-anchor="middle">%s</text>`, (plotHeight-bottom+top)/2, html.EscapeString(p.YLabel))
	c.text((plotWidth+left-right)/2, plotHeight-6, "middle", p.XLabel)
	room := int((plotWidth - left - right) / (6.5*float64(p.widestLabel()) + 12))
	every := max(1, (len(p.X)+room-1)/max(1, room))
	for i, label := range p.X {
		if i%every == 0 {
			c.text(p.place(i), plotHeight-bottom+16, "middle", label)
		}
	}
}

// ticks returns the ticks of the y axis: on a logarithmic one powers of ten, thinned out if there are
// many.
func (c *canvas) ticks() (ticks []float64) {
	if c.log {
		first, last := math.Ceil(math.Log10(c.low)), math.Floor(math.Log10(c.high)+1e-9)
		every := max(1, math.Ceil((last-first)/5))
		for e := first; e <= last; e += every {
			ticks = append(ticks, math.Pow(10, e))
		}
		return ticks
	}
	return svg.Ticks(c.high)
}

// Empty reports whether there is nothing to draw.
func (p *Plot) Empty() bool {
	for _, s := range p.Series {
		for _, v := range s.Values {
			if v != nil {
				return false
			}
		}
	}
	for _, b := range p.Boxes {
		if b.N > 0 {
			return false
		}
	}
	return true
}

func (p *Plot) widestLabel() (n int) {
	for _, label := range p.X {
		n = max(n, len(label))
	}
	return n
}

func (p *Plot) step() float64 {
	return (plotWidth - left - right) / float64(max(1, max(len(p.X), len(p.Boxes))))
}

// place is the x coordinate of the middle of the i-th place.
func (p *Plot) place(i int) float64 { return left + (float64(i)+.5)*p.step() }

// tip describes the value of a series at a place.
func (p *Plot) tip(place int, s *Series) string {
	return fmt.Sprintf("%s, %s: %.6g", p.X[place], s.Name, *s.Values[place])
}

func (p *Plot) drawBars(c *canvas) {
	for i := range p.X {
		base := 0.0
		for k, s := range p.Series {
			v := s.Values[i]
			if v == nil {
				continue
			}
			title := p.tip(i, &s)
			if p.Kind == Stacked {
				c.rect(p.place(i)-p.step()/2, c.y(base+*v), p.step()+.2, c.y(base)-c.y(base+*v), "fill-"+s.Colour, title)
				base += *v
				continue
			}
			width := min(.8*p.step(), 40*float64(len(p.Series))) / float64(len(p.Series))
			foot := c.y(max(c.low, 0))
			c.rect(p.place(i)+(float64(k)-float64(len(p.Series))/2)*width, c.y(*v), width, foot-c.y(*v), "fill-"+s.Colour, title)
		}
	}
}

func (p *Plot) drawLines(c *canvas) {
	for _, s := range p.Series {
		var points []string
		for i, v := range s.Values {
			if v != nil {
				points = append(points, fmt.Sprintf("%.1f,%.1f", p.place(i), c.y(*v)))
			}
		}
		fmt.Fprintf(c, `<polyline points="%s" class="line-%s"/>`, strings.Join(points, " "), s.Colour)
		for i, v := range s.Values {
			if v != nil {
				fmt.Fprintf(c, `<circle cx="%.1f" cy="%.1f" r="3" class="fill-%s"><title>%s</title></circle>`, p.place(i), c.y(*v), s.Colour, html.EscapeString(p.tip(i, &s)))
			}
		}
	}
}

func (p *Plot) drawBoxes(c *canvas) {
	for i, b := range p.Boxes {
		x, half := p.place(i), min(40, .3*p.step())
		c.text(x, plotHeight-bottom+16, "middle", b.Name)
		c.text(x, plotHeight-bottom+30, "middle", "n = "+grouped(int64(b.N)))
		if b.N == 0 {
			continue
		}
		c.line(x, c.y(b.Min), x, c.y(b.Max), "stroke")
		c.rect(x-half, c.y(b.Q3), 2*half, c.y(b.Q1)-c.y(b.Q3), "box", fmt.Sprintf("%s: %.4g, %.4g, %.4g, %.4g, %.4g", b.Name, b.Min, b.Q1, b.Mid, b.Q3, b.Max))
		for _, v := range []float64{b.Min, b.Mid, b.Max} {
			c.line(x-half, c.y(v), x+half, c.y(v), "stroke")
		}
	}
}
