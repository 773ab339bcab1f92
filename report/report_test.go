package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

const hostile = `<script>alert("x")</script><img src=x onerror=y> 'quoted' & more`

var (
	tags    = regexp.MustCompile(`<[^>]*>`)
	quoted  = regexp.MustCompile(`"[^"]*"`)
	active  = regexp.MustCompile(`(?i)^</?(script|img|iframe|object|link|b|i)\b|\s(on\w+|src|href\s*=\s*[^\s#])`)
	anchors = regexp.MustCompile(`href="#[\w-]*"`)
)

// activeIn returns a tag of a page that runs or fetches something, or that comes from a name.
func activeIn(page string) string {
	for _, tag := range tags.FindAllString(page, -1) {
		if bare := quoted.ReplaceAllString(anchors.ReplaceAllString(tag, ""), "Q"); active.MatchString(bare) {
			return tag
		}
	}
	return ""
}

func deref(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// Published numbers are shown only beside numbers of the same metric.
func TestPublishedNumbersAreOfTheSameMetric(t *testing.T) {
	if n := number("High", "links", "size/p99/High", schema.CreditStall.String(), nil); deref(n.Published) != 214 {
		t.Errorf("of credit stall: %v", deref(n.Published))
	}
	if n := number("High", "links", "size/p99/High", schema.XmitWait.String(), nil); n.Published != nil {
		t.Errorf("of another metric: %v", *n.Published)
	}
}

// A name in a plot stays text, and an empty plot is drawn.
func TestPlots(t *testing.T) {
	v := 3.
	if activeIn(hostile) == "" {
		t.Error("the check finds nothing")
	}
	for _, kind := range []PlotKind{Bars, Stacked, Lines, Boxes} {
		for _, log := range []bool{false, true} {
			p := Plot{Title: hostile, Kind: kind, XLabel: hostile, YLabel: hostile, LogY: log}
			for range 2 {
				if text := p.SVG(); activeIn(text) != "" || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
					t.Errorf("%s: %s", kind, text)
				}
				p.X, p.Series, p.Boxes = []string{hostile, "b"}, []Series{{Name: hostile, Colour: "Low", Values: []*float64{&v, nil}}}, []Summary{{Name: hostile, Min: 1, Q1: 2, Mid: 3, Q3: 4, Max: 5, N: 9}, {Name: "none"}}
			}
		}
	}
}

// Numbers are written for people, and ticks are round.
func TestNumbersAreReadable(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 815006: "815,006", -1234: "-1,234", 216000: "216,000", 99.862: "99.86", 2.8472: "2.847", .016667: "0.0167", 12345.6: "12,346", 999: "999", -999: "-999"} {
		if got := figure(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	for _, c := range []struct {
		canvas canvas
		want   []float64
	}{
		{canvas{high: 1}, []float64{0, .2, .4, .6, .8, 1}}, {canvas{high: 19.95}, []float64{0, 5, 10, 15}}, {canvas{high: 100}, []float64{0, 20, 40, 60, 80, 100}},
		{canvas{low: .5, high: 1000, log: true}, []float64{1, 10, 100, 1000}}, {canvas{low: 1, high: 1e9, log: true}, []float64{1, 100, 1e4, 1e6, 1e8}},
	} {
		if diff := cmp.Diff(c.want, c.canvas.ticks(), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("up to %v: %s", c.canvas.high, diff)
		}
	}
}

// A column is numeric, with its head to the right, if none of its cells is a word.
func TestColumnsOfNumbers(t *testing.T) {
	table := Table{Rows: [][]string{{"12", "1", "0.5"}, {"gather", "2", "–"}}}
	if table.Numeric(0) || !table.Numeric(1) || !table.Numeric(2) {
		t.Error("of two columns of numbers and one of words")
	}
}

// Time without stored data has its place in the plot, also as a part of a bar.
func TestNetworkPlotShowsWhatIsNotStored(t *testing.T) {
	const hour = schema.Instant(3600e9)
	span := read.Span{From: 1000*hour + hour/2, To: 1004 * hour}
	steps := []read.NetworkStep{ // of half an hour, an hour of which half is stored, none, and one that is unknown in part
		{Begin: 1000 * hour, Seconds: [4]float64{1800}}, {Begin: 1001 * hour, Seconds: [4]float64{0, 0, 0, 1800}}, {Begin: 1003 * hour, Seconds: [4]float64{0, 900}, Unknown: 2700}}
	p := networkPlot(steps, 1, span)
	if want := []string{"02-11 16:30", "02-11 17:00", "02-11 18:00", "02-11 19:00"}; !cmp.Equal(want, p.X) {
		t.Errorf("places: %s", cmp.Diff(want, p.X))
	}
	all, half, none, quarter, rest := 100., 50., 0., 25., 75.
	want := [][]*float64{{&none, &half, nil, &none}, {&none, &none, nil, &none}, {&none, &none, nil, &quarter}, {&all, &none, nil, &none}, {&none, &none, nil, &rest}}
	for i, s := range p.Series {
		if diff := cmp.Diff(want[i], s.Values); diff != "" {
			t.Errorf("%s: %s", s.Name, diff)
		}
	}
}
