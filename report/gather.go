package report

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// maker runs the queries of one report, one after the other.
type maker struct {
	figures *read.Figures
	fabric  string
	span    read.Span
	report  *Report
	metrics []schema.Metric
	quiet   map[schema.Metric]bool // without a region in the span
}

// errLeftOut is returned by a section that would be empty.
var errLeftOut = errors.New("section left out")

// ErrNothing is returned if nothing of the fabric is stored in the span.
var ErrNothing = errors.New("nothing is stored for it")

// Make makes a report on a fabric's congestion in a span. interval is the length of the
// fabric's intervals if none are stored, made the present time.
func Make(ctx context.Context, model *read.Model, fabric string, span read.Span, interval time.Duration, made schema.Instant) (*Report, error) {
	m := &maker{fabric: fabric, span: span, report: &Report{Form: Form, Fabric: fabric, From: span.From, To: span.To, Made: made}, quiet: map[schema.Metric]bool{}}
	m.report.Expected = int(m.past() / interval)
	figures := model.Figures(fabric, span)
	err := figures.Prepare(ctx)
	if err != nil {
		return nil, err
	}
	if m.metrics, err = figures.StallMetrics(ctx); err != nil {
		return nil, err
	}
	for _, metric := range m.metrics {
		m.report.Metrics = append(m.report.Metrics, metric.String())
	}
	queries := []query{m.completeness, m.network}
	for _, metric := range m.metrics {
		queries = append(queries, by(metric, m.regions), by(metric, m.sizes), by(metric, m.durations), by(metric, m.hotspots))
	}
	queries = append(queries, m.congestion, m.mitigations, m.jobs, m.causes, m.accused, m.forecasts)
	for _, metric := range m.metrics {
		queries = append(queries, by(metric, m.topLinks))
	}
	for i, query := range queries {
		s := Section{}
		m.figures = figures.Noting(func(st read.Statement) { s.Queries = append(s.Queries, st) })
		began := time.Now()
		err := query(ctx, &s)
		if errors.Is(err, errLeftOut) {
			continue
		}
		if errors.Is(err, read.ErrTooExpensive) {
			s.Fault = read.ErrTooExpensive.Error()
		} else if err != nil {
			return nil, fmt.Errorf("section %q: %w", s.Title, err)
		}
		if i == 0 && len(m.report.Stored) == 0 {
			return nil, ErrNothing
		}
		if s.Table != nil && s.Table.Rows == nil {
			s.Table.Rows = [][]string{} // a list in JSON, too
		}
		s.Duration = time.Since(began).Seconds()
		m.report.Sections = append(m.report.Sections, s)
	}
	return m.report, nil
}

// query fills in a section.
type query func(context.Context, *Section) error

// by returns the query of a section about one metric.
func by(metric schema.Metric, fill func(context.Context, *Section, schema.Metric) error) query {
	return func(ctx context.Context, s *Section) error {
		s.Metric = metric.String()
		return fill(ctx, s, metric)
	}
}

// past returns the length of the span's past part: nothing of the rest can be stored.
func (m *maker) past() time.Duration {
	return time.Duration(max(0, min(m.span.To, m.report.Made)-m.span.From))
}

func (m *maker) completeness(ctx context.Context, s *Section) (err error) {
	s.ID, s.Title = "completeness", "What is stored"
	s.Note = "Intervals of the span, by version of the fabric's graph; links of different versions are different links. An interval that was stored again counts once, as it was stored last. The state of an interval that measured too little is unknown."
	if m.report.Stored, err = m.figures.Completeness(ctx); err != nil {
		return err
	}
	intervals, known, seconds := 0, 0, 0.0
	s.Table = &Table{Head: []string{"graph version", "intervals", "state known", "links", "first", "last"}}
	for _, c := range m.report.Stored {
		intervals, known, seconds = intervals+c.Intervals, known+c.Known, seconds+c.Seconds
		s.Table.Rows = append(s.Table.Rows, []string{c.GraphVersion.String(), fmt.Sprint(c.Intervals), fmt.Sprint(c.Known), fmt.Sprint(c.Links), c.First.String(), c.Last.String()})
	}
	if seconds > 0 { // from the stored intervals' length, which the configuration may have changed since
		m.report.Expected = int(math.Round(m.past().Seconds() / seconds * float64(intervals)))
	}
	s.Numbers = []Number{{Name: "intervals expected", Value: value(m.report.Expected)}, {Name: "intervals stored", Value: value(intervals)}, {Name: "with a known state", Value: value(known)},
		{Name: "complete", Unit: "%", Value: ratio(100*float64(known), float64(m.report.Expected))}}
	return nil
}

func (m *maker) network(ctx context.Context, s *Section) error {
	s.ID, s.Title, s.Source = "network", "State of the network", "Monet, section 5.2 and figure 6"
	s.Note = "The network's state is that of its worst region by any metric; hot links that are too few for a region do not count here, but among the hot links. Time whose state is unknown is left out of the shares. The plot reaches from the first to the last interval that is stored; what a bar lacks to 100% is not stored."
	t, err := m.figures.NetworkTime(ctx)
	if err != nil {
		return err
	}
	stored := m.stored()
	hours := stepHours(stored)
	steps, err := m.figures.NetworkSteps(ctx, hours)
	if err != nil {
		return err
	}
	moves, err := m.figures.NetworkTransitions(ctx, schema.NoMetric)
	if err != nil {
		return err
	}
	all := 0
	for _, n := range t.Intervals {
		all += n
	}
	for _, severity := range schema.Severities {
		s.Numbers = append(s.Numbers, number(severity.String(), "% of time", "network/share/"+severity.String(), "", valueIf(all > 0, 100*t.Share(severity))))
	}
	high := schema.RegionState(schema.High)
	s.Numbers = append(s.Numbers, number("not Neg", "% of time", "network/share/not Neg", "", valueIf(all > 0, 100*(1-t.Share(schema.Negligible)))),
		number("High stays High", "%", "network/stays/High", "", valueIf(moves.From(high) > 0, 100*moves.Probability(high, high))))
	s.Plots = []Plot{networkPlot(steps, hours, stored)}
	s.Table = transitionTable(&moves, len(schema.Severities))
	return nil
}

// stored returns the time from the first to the last stored interval of the span.
func (m *maker) stored() read.Span {
	first := m.report.Stored[0]
	span := read.Span{From: first.First, To: first.Last}
	for _, c := range m.report.Stored {
		length := schema.Instant(c.Seconds / float64(c.Intervals) * 1e9)
		span.From, span.To = min(span.From, c.First), max(span.To, c.Last+length)
	}
	return span
}

// stepHours returns a step length that divides a span into about a hundred: a part of a day, or days.
func stepHours(span read.Span) int {
	least := float64(span.To-span.From) / 3600e9 / 120
	for _, hours := range []int{1, 2, 3, 6, 12} {
		if float64(hours) >= least {
			return hours
		}
	}
	return 24 * int(math.Ceil(least/24))
}

// networkPlot has a bar for each step of a span; what a bar lacks to 100% is not stored.
func networkPlot(steps []read.NetworkStep, hours int, span read.Span) Plot {
	form, by := time.DateOnly, fmt.Sprintf("%d days", hours/24)
	if hours < 24 {
		form, by = "01-02 15:04", fmt.Sprintf("%d h", hours)
	}
	p := Plot{Title: "Share of time in each state, by " + by, Kind: Stacked, XLabel: "begin, UTC", YLabel: "% of time"}
	for i := len(schema.Severities) - 1; i >= 0; i-- {
		p.Series = append(p.Series, Series{Name: schema.Severities[i].String(), Colour: schema.Severities[i].String()})
	}
	p.Series = append(p.Series, Series{Name: "unknown", Colour: "unknown"})
	byBegin := map[schema.Instant]*read.NetworkStep{}
	for i := range steps {
		byBegin[steps[i].Begin] = &steps[i]
	}
	length := schema.Instant(hours) * schema.Instant(time.Hour)
	for begin := span.From - span.From%length; begin < span.To; begin += length {
		from := max(begin, span.From)
		p.X = append(p.X, from.Time().Format(form))
		values := make([]*float64, len(p.Series)) // used if nothing is stored
		if step := byBegin[begin]; step != nil {
			values = stepShares(step, time.Duration(min(begin+length, span.To)-from).Seconds())
		}
		for i := range p.Series {
			p.Series[i].Values = append(p.Series[i].Values, values[i])
		}
	}
	return p
}

// stepShares returns the shares of some seconds in each state, the worst first, and last in the unknown state.
func stepShares(step *read.NetworkStep, seconds float64) (shares []*float64) {
	all := step.Unknown
	for _, s := range step.Seconds {
		all += s
	}
	all = max(all, seconds) // the last interval may be longer than the span
	for i := len(step.Seconds) - 1; i >= 0; i-- {
		shares = append(shares, ratio(100*step.Seconds[i], all))
	}
	return append(shares, ratio(100*step.Unknown, all))
}

// transitionTable returns the probabilities, a row for each of the first states before a transition.
func transitionTable(t *read.Transitions, states int) *Table {
	names := []string{"Neg", "Low", "Medium", "High", "gone"}[:states]
	table := &Table{Head: append([]string{"from \\ to"}, names...)}
	for a, name := range names {
		row := []string{fmt.Sprintf("%s (%d)", name, t.From(schema.RegionState(a)))}
		for b := range names {
			row = append(row, cell("%.3f", valueIf(t.From(schema.RegionState(a)) > 0, t.Probability(schema.RegionState(a), schema.RegionState(b)))))
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// cell formats a table cell: a dash if there is no value.
func cell(format string, v *float64) string {
	if v == nil {
		return none
	}
	return fmt.Sprintf(format, *v)
}

// isPublished reports whether the paper's regions are by this metric; "" is the network.
func isPublished(metric string) bool {
	return metric == "" || metric == schema.CreditStall.String() || metric == schema.InqStall.String()
}

// number has the published value beside the measured one if that is by the metric; an
// empty metric means the network.
func number(name, unit, publishedAs, metric string, v *float64) Number {
	n := Number{Name: name, Unit: unit, Value: v}
	if v, ok := published[publishedAs]; ok && isPublished(metric) {
		n.Published = &v
	}
	return n
}

func value[T int | float64](v T) *float64 { return new(float64(v)) }

// valueIf is nil if there is no data.
func valueIf(known bool, v float64) *float64 {
	if !known {
		return nil
	}
	return &v
}

// ratio is nil if b is 0.
func ratio(a, b float64) *float64 { return valueIf(b != 0, a/b) }
