package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
)

// element is an element of an SVG picture: its attributes, the numbers among them, and the text in it.
type element struct {
	name string
	attr map[string]string
	at   map[string]float64
	text string
}

func elementsOf(t *testing.T, picture string) (list []*element) {
	t.Helper()
	var open []*element
	for d := xml.NewDecoder(strings.NewReader(picture)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatalf("%v in %s", err, picture)
		}
		switch x := token.(type) {
		case xml.StartElement:
			e := &element{name: x.Name.Local, attr: map[string]string{}, at: map[string]float64{}}
			for _, a := range x.Attr {
				e.attr[a.Name.Local] = a.Value
				if v, err := strconv.ParseFloat(a.Value, 64); err == nil {
					e.at[a.Name.Local] = v
				}
			}
			open, list = append(open, e), append(list, e)
		case xml.CharData:
			for _, e := range open[1:] { // not the picture itself
				e.text += string(x)
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
}

// valueAt returns the value at a height by the ticks of the picture's axis: each is a line, followed by its label.
func valueAt(t *testing.T, list []*element, log bool) func(y float64) float64 {
	t.Helper()
	var ys, values []float64
	for i, e := range list {
		if e.attr["text-anchor"] != "end" {
			continue
		}
		v, err := strconv.ParseFloat(strings.ReplaceAll(e.text, ",", ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		line := list[i-1]
		if line.attr["class"] != "grid" || line.at["y1"] != line.at["y2"] || math.Abs(e.at["y"]-line.at["y1"]-4) > .11 {
			t.Errorf("tick %s: the label is at %v, its line at %v to %v", e.text, e.at["y"], line.at["y1"], line.at["y2"])
		}
		if log {
			v = math.Log10(v)
		}
		ys, values = append(ys, line.at["y1"]), append(values, v)
	}
	if len(ys) < 2 {
		t.Fatalf("%d ticks", len(ys))
	}
	last := len(ys) - 1
	return func(y float64) float64 {
		v := values[0] + (y-ys[0])/(ys[last]-ys[0])*(values[last]-values[0])
		if log {
			v = math.Pow(10, v)
		}
		return v
	}
}

func near(a, b, most float64) bool { return math.Abs(a-b) <= most }

// Every shape is at the height that the axis says for its value, and at its place.
func TestShapesAreWhereTheAxisSays(t *testing.T) {
	v := func(list ...float64) (out []*float64) {
		for _, x := range list {
			out = append(out, value(x))
		}
		return out
	}
	gap := v(40, 0, 10)
	gap[1] = nil
	places, series := []string{"a", "b", "c"}, []Series{{Name: "one", Colour: "Low", Values: v(10, 20, 30)}, {Name: "two", Colour: "High", Values: gap}}
	for _, kind := range []PlotKind{Bars, Stacked, Lines} {
		for _, log := range []bool{false, true} {
			if kind == Stacked && log {
				continue
			}
			name := fmt.Sprint(kind, ", log ", log)
			p := Plot{Title: "T", Kind: kind, XLabel: "x", YLabel: "y", X: places, Series: series, LogY: log}
			list := elementsOf(t, p.SVG())
			at := valueAt(t, list, log)
			middle, tops, count := map[string]float64{}, map[string]float64{}, 0
			lines, circles, highest := "", "", plotHeight
			for _, e := range list {
				if e.name == "text" && e.attr["text-anchor"] == "middle" {
					middle[e.text] = e.at["x"]
				}
				lines += e.attr["points"] + " "
			}
			for i, place := range places { // side by side across the whole plot
				if want := left + (plotWidth-left-right)*(float64(i)+.5)/3; !near(middle[place], want, .1) {
					t.Errorf("%s: place %s is at %v, want %v", name, place, middle[place], want)
				}
			}
			for _, e := range list {
				if e.name != "rect" && e.name != "circle" {
					continue
				}
				count++
				place, rest, _ := strings.Cut(e.text, ", ")
				who, number, _ := strings.Cut(rest, ": ")
				want, err := strconv.ParseFloat(number, 64)
				if err != nil {
					t.Fatalf("%s: %q", name, e.text)
				}
				head, from, to := e.at["cy"], e.at["cx"], e.at["cx"]
				if e.name == "circle" {
					circles += e.attr["cx"] + "," + e.attr["cy"] + " "
				} else {
					head, from, to = e.at["y"], e.at["x"], e.at["x"]+e.at["width"]
					foot := at(e.at["y"] + e.at["height"])
					if kind == Bars && !log && !near(foot, 0, .3) || kind == Stacked && !near(foot, tops[place], .3) {
						t.Errorf("%s: %q begins at %v", name, e.text, foot)
					}
				}
				highest = min(highest, head)
				if kind == Stacked {
					want += tops[place]
					tops[place] = want
				}
				if got := at(head); !near(got, want, .01*want+.2) {
					t.Errorf("%s: %q of %s ends at %v, want %v", name, e.text, who, got, want)
				}
				x, wide := middle[place], 0. // bars stand beside each other, in the middle four fifths of their place or in 40 each
				switch kind {
				case Bars:
					wide = 40
					if who == "one" && !near(to, x, .2) || who == "two" && !near(from, x, .2) {
						t.Errorf("%s: %q reaches from %v to %v, the middle is %v", name, e.text, from, to, x)
					}
				case Stacked:
					wide = (plotWidth - left - right) / 3
				}
				if !near(to-from, wide, .3) || from > x+.2 || to < x-.2 {
					t.Errorf("%s: %q reaches from %v to %v, its place is %v, want a width of %v", name, e.text, from, to, x, wide)
				}
			}
			if room := plotHeight - bottom - top; highest < top-.1 || highest > top+.1*room && !log || kind == Stacked && !near(highest, top, .1) {
				t.Errorf("%s: the highest shape ends at %v of %v", name, highest, room)
			}
			if kind == Lines && strings.Join(strings.Fields(lines), " ") != strings.TrimSpace(circles) {
				t.Errorf("%s: the lines go through %s, the values are at %s", name, lines, circles)
			}
			if count != 5 {
				t.Errorf("%s: %d shapes, want 5", name, count)
			}
		}
	}
}

// A box has its quartiles, and lines at the extremes and the median; one of no values is only named.
func TestBoxesAreWhereTheAxisSays(t *testing.T) {
	p := Plot{Title: "T", Kind: Boxes, YLabel: "y", Boxes: []Summary{{Name: "b", Min: 10, Q1: 20, Mid: 35, Q3: 50, Max: 90, N: 1234}, {Name: "none"}}}
	list := elementsOf(t, p.SVG())
	at := valueAt(t, list, false)
	said, drawn := map[string]bool{}, 0
	var levels []float64
	for _, e := range list {
		said[e.text] = true
		switch {
		case e.name == "rect":
			drawn++
			if !near(e.at["width"], 80, .1) || !near(e.at["x"]+40, left+(plotWidth-left-right)/4, .1) {
				t.Errorf("the box begins at %v and is %v wide", e.at["x"], e.at["width"])
			}
			if top, bottom := at(e.at["y"]), at(e.at["y"]+e.at["height"]); !near(top, 50, .3) || !near(bottom, 20, .3) {
				t.Errorf("the box is from %v to %v", bottom, top)
			}
		case e.name == "line" && e.attr["class"] == "stroke" && e.at["y1"] == e.at["y2"]:
			levels = append(levels, at(e.at["y1"]))
			if !near(e.at["x2"]-e.at["x1"], 80, .1) {
				t.Errorf("a line from %v to %v", e.at["x1"], e.at["x2"])
			}
		case e.name == "line" && e.attr["class"] == "stroke":
			drawn++
			if from, to := at(e.at["y1"]), at(e.at["y2"]); !near(from, 10, .3) || !near(to, 90, .3) {
				t.Errorf("the whisker is from %v to %v", from, to)
			}
		}
	}
	if drawn != 2 || len(levels) != 3 || !near(levels[0], 10, .3) || !near(levels[1], 35, .3) || !near(levels[2], 90, .3) {
		t.Errorf("%d shapes, lines at %v", drawn, levels)
	}
	if !said["b"] || !said["n = 1,234"] || !said["none"] || !said["n = 0"] {
		t.Errorf("texts %v", said)
	}
}

// The highest value of a box plot is in the plot, and of labels that would overlap only some are written.
func TestPlotsHaveRoom(t *testing.T) {
	p := Plot{Kind: Boxes, Boxes: []Summary{{N: 0, Max: 500}, {Min: 70, Q1: 70, Mid: 80, Q3: 80, Max: 90, N: 3}}}
	if _, high, _ := p.reach(); high < 90 || high > 100 {
		t.Errorf("a plot up to 90 reaches to %v", high)
	}
	for _, places := range []int{1, 7, 40, 100, 300} {
		p := Plot{Kind: Bars, Series: []Series{{Name: "s"}}}
		for i := range places {
			p.X, p.Series[0].Values = append(p.X, fmt.Sprintf("label %03d", i)), append(p.Series[0].Values, value(i))
		}
		last, written := math.Inf(-1), 0
		for _, e := range elementsOf(t, p.SVG()) {
			if e.name != "text" || !strings.HasPrefix(e.text, "label") {
				continue
			}
			if e.at["x"]-last < 9*6.5 { // characters of 6.5 units
				t.Errorf("of %d labels %q is at %v, the one before at %v", places, e.text, e.at["x"], last)
			}
			last, written = e.at["x"], written+1
		}
		if written < min(places, 5) { // there is room for 11, and a round step between
			t.Errorf("of %d labels %d are written", places, written)
		}
	}
}

func TestEmptyPlots(t *testing.T) {
	for _, c := range []struct {
		plot  Plot
		empty bool
	}{
		{Plot{}, true}, {Plot{Series: []Series{{Values: []*float64{nil}}}, Boxes: []Summary{{}}}, true},
		{Plot{Series: []Series{{}, {Values: []*float64{nil, value(0)}}}}, false}, {Plot{Boxes: []Summary{{}, {N: 1}}}, false},
	} {
		if c.plot.Empty() != c.empty {
			t.Errorf("%+v: empty is %v", c.plot, !c.empty)
		}
	}
}
