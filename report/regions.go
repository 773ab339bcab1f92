package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

func (m *maker) regions(ctx context.Context, s *Section, metric schema.Metric) error {
	s.ID, s.Title, s.Source = "regions-"+s.Metric, "Link time by severity, and transitions of regions", "Monet, section 5.1 and figure 5c"
	s.Note = "Link time is that of all links in regions of a severity, of the time in which links were measured. Transitions are those of regions that are tracked, from one interval to the next; a region that was not there before, or is not after, is gone."
	share, err := m.figures.LinkTime(ctx, metric)
	if err != nil {
		return err
	}
	moves, err := m.figures.RegionTransitions(ctx, metric)
	if err != nil {
		return err
	}
	if m.quiet[metric] = !anyRegion(share, &moves); m.quiet[metric] {
		s.Note = "No region by this metric in this span. The sections on sizes and lifetimes of its regions are left out."
		return nil
	}
	for _, severity := range schema.Severities {
		var percent *float64
		if share != nil {
			percent = value(100 * share[severity])
		}
		s.Numbers = append(s.Numbers, number("link time in "+severity.String(), "%", "links/share/"+severity.String(), s.Metric, percent))
	}
	var least *float64
	for _, severity := range schema.Severities[1:] {
		state := schema.RegionState(severity)
		if p := 100 * moves.Probability(state, state); moves.From(state) > 0 && (least == nil || p < *least) {
			least = &p
		}
	}
	s.Numbers = append(s.Numbers, number("least likely to stay as it is, of Low, Medium and High", "%", "regions/stays/least", s.Metric, least))
	s.Table = transitionTable(&moves, schema.NumStates)
	return nil
}

// anyRegion reports whether there was a region of some severity.
func anyRegion(share *[len(schema.Severities)]float64, moves *read.Transitions) bool {
	return slices.ContainsFunc(schema.Severities[1:], func(s schema.Severity) bool {
		return share != nil && share[s] > 0 || moves.From(schema.RegionState(s)) > 0
	})
}

func (m *maker) sizes(ctx context.Context, s *Section, metric schema.Metric) error {
	if m.quiet[metric] {
		return errLeftOut
	}
	s.ID, s.Title, s.Source = "sizes-"+s.Metric, "Sizes and means of regions", "Monet, section 5.1 and figure 5a"
	s.Note = "A region counts once per interval."
	buckets, err := m.figures.RegionSizes(ctx, metric)
	if err != nil {
		return err
	}
	sizes, err := m.figures.SizeSpread(ctx, metric)
	if err != nil {
		return err
	}
	means, err := m.figures.MeanSpread(ctx, metric)
	if err != nil {
		return err
	}
	for _, severity := range schema.Severities[1:] {
		s.Numbers = append(s.Numbers, spread(severity.String()+": ", "links", "size", "/"+severity.String(), s.Metric, sizes[severity])...)
	}
	s.Numbers = append(s.Numbers, spread("mean of regions: ", "% of time", "mean", "", s.Metric, means)...)
	s.Plots = []Plot{histogram("Regions by number of links", "size: from so many links to below twice that", buckets)}
	return nil
}

// spread returns the numbers of a distribution, named label plus median, p99 or max.
// Published values are found under quantity/median and so on, with suffix.
func spread(label, unit, quantity, suffix, metric string, d read.Spread) (numbers []Number) {
	for _, part := range []struct {
		name  string
		value float64
	}{{"median", d.Median}, {"p99", d.P99}, {"max", d.Max}} {
		numbers = append(numbers, number(label+part.name, unit, quantity+"/"+part.name+suffix, metric, valueIf(d.N > 0, part.value)))
	}
	return numbers
}

// histogram draws buckets by severity, from the first to the last.
func histogram(title, x string, buckets []read.Bucket) Plot {
	p := Plot{Title: title, Kind: Bars, XLabel: x, YLabel: "regions", LogY: true}
	var places []int
	if len(buckets) > 0 {
		byFrom := func(a, b read.Bucket) int { return cmp.Compare(a.From, b.From) }
		last := slices.MaxFunc(buckets, byFrom).From
		for from := slices.MinFunc(buckets, byFrom).From; from <= last; from = max(1, 2*from) {
			places, p.X = append(places, from), append(p.X, fmt.Sprint(from))
		}
	}
	for _, severity := range schema.Severities[1:] {
		series := Series{Name: severity.String(), Colour: severity.String(), Values: make([]*float64, len(places))}
		for _, b := range buckets {
			if i := slices.Index(places, b.From); i >= 0 && b.Severity == severity {
				series.Values[i] = value(b.Regions)
			}
		}
		p.Series = append(p.Series, series)
	}
	return p
}

func (m *maker) durations(ctx context.Context, s *Section, metric schema.Metric) error {
	if m.quiet[metric] {
		return errLeftOut
	}
	s.ID, s.Title, s.Source = "durations-"+s.Metric, "Lifetimes of regions", "Monet, section 5.1 and figure 5b"
	s.Note = "A region counts once, under the highest severity that it reached; what was before and after the span does not count."
	buckets, err := m.figures.RegionDurations(ctx, metric)
	if err != nil {
		return err
	}
	lives, err := m.figures.DurationSpread(ctx, metric)
	if err != nil {
		return err
	}
	for _, severity := range schema.Severities[1:] {
		s.Numbers = append(s.Numbers, spread(severity.String()+": ", "minutes", "duration", "", s.Metric, lives[severity])...)
	}
	s.Note += " What is published is across all severities."
	s.Plots = []Plot{histogram("Regions by lifetime", "lifetime: from so many minutes to below twice that", buckets)}
	return nil
}

func (m *maker) hotspots(ctx context.Context, s *Section, metric schema.Metric) error {
	s.ID, s.Title, s.Source = "hotspots-"+s.Metric, "Durations of hot links", "Monet, section 3.2 and figure 3"
	s.Note = "Episodes of links at or above a threshold, which count where they end; one that was seen once lasts 0."
	durations, err := m.figures.HotEpisodes(ctx, metric)
	if err != nil {
		return err
	}
	p := Plot{Title: "Duration of hot episodes", Kind: Lines, XLabel: "threshold, % of time", YLabel: "minutes",
		Series: []Series{{Name: "median", Colour: "Low"}, {Name: "99%", Colour: "Medium"}, {Name: "99.9%", Colour: "High"}}}
	for _, d := range durations {
		p.X = append(p.X, fmt.Sprint(d.ThresholdPercent))
		for i, seconds := range []float64{d.MedianSeconds, d.P99Seconds, d.P999Seconds} {
			p.Series[i].Values = append(p.Series[i].Values, value(seconds/60))
		}
		if d.ThresholdPercent == 30 {
			s.Numbers = append(s.Numbers, Number{Name: "episodes at 30%", Value: value(d.Episodes)},
				number("median at 30%", "minutes", "hot/median", s.Metric, value(d.MedianSeconds/60)), number("99.9% at 30%", "minutes", "hot/p999/30", s.Metric, value(d.P999Seconds/60)))
		}
	}
	s.Plots = []Plot{p}
	return nil
}

func (m *maker) topLinks(ctx context.Context, s *Section, metric schema.Metric) error {
	s.ID, s.Title = "links-"+s.Metric, "Links with the highest mean"
	s.Note = "By their mean over the span, for each version of the graph."
	s.Table = &Table{Head: []string{"graph version", "link", "mean, %", "highest, %"}}
	for _, c := range m.report.Stored {
		links, err := m.figures.TopLinks(ctx, uint64(c.GraphVersion), metric, 10)
		if err != nil {
			return err
		}
		names, err := m.figures.LinkNames(ctx, uint64(c.GraphVersion), links)
		if err != nil {
			return err
		}
		for i, l := range links {
			s.Table.Rows = append(s.Table.Rows, []string{c.GraphVersion.String(), names[i], fmt.Sprintf("%.2f", l.Mean), fmt.Sprintf("%.2f", l.Max)})
		}
	}
	return nil
}
