package report

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// summaryOf returns the five-number summary of values; if there are none, only the name.
func summaryOf(name string, values []float64) Summary {
	if len(values) == 0 {
		return Summary{Name: name}
	}
	values = slices.Sorted(slices.Values(values))
	at := func(q float64) float64 { return values[int(q*float64(len(values)-1)+.5)] }
	return Summary{name, values[0], at(.25), at(.5), at(.75), values[len(values)-1], len(values)}
}

func mean(values []float64) *float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return ratio(sum, float64(len(values)))
}

func (m *maker) congestion(ctx context.Context, s *Section) error {
	s.ID, s.Title, s.Source = "congestion", "Regions congestion events", "Monet, section 6 and figure 10"
	s.Note = "Windows in each instant of which some region is High."
	events, err := m.figures.Congestion(ctx)
	if err != nil {
		return err
	}
	var durations, gaps []float64
	long := 0.0
	for i, e := range events {
		minutes := float64(e.EndNanos-e.BeginNanos) / 60e9
		if durations = append(durations, minutes); minutes > 30 {
			long++
		}
		if i > 0 {
			gaps = append(gaps, float64(e.BeginNanos-events[i-1].EndNanos)/60e9)
		}
	}
	s.Numbers = []Number{number("events", "", "rce/count", "", value(len(events))), number("over 30 minutes", "%", "rce/over 30 minutes", "", ratio(100*long, float64(len(events)))),
		number("average duration", "minutes", "rce/average", "", mean(durations))}
	for _, metric := range m.metrics {
		name := metric.String()
		peaks, err := m.figures.CongestionPeaks(ctx, metric)
		if err != nil {
			return err
		}
		var means, highest []float64
		for _, p := range peaks {
			means, highest = append(means, p.Mean), append(highest, p.Highest)
		}
		s.Numbers = append(s.Numbers, number("average of the highest mean, "+name, "% of time", "rce/highest/"+name, name, mean(highest)))
		s.Plots = append(s.Plots, Plot{Title: "Stall of events, " + name, Kind: Boxes, YLabel: "% of time", Boxes: []Summary{summaryOf("all regions", means), summaryOf("highest", highest)}})
	}
	s.Plots = append(s.Plots, Plot{Title: "Durations, and times between", Kind: Boxes, YLabel: "minutes", LogY: true, Boxes: []Summary{summaryOf("duration", durations), summaryOf("between", gaps)}})
	return nil
}

func (m *maker) mitigations(ctx context.Context, s *Section) error {
	s.ID, s.Title, s.Source = "mitigations", "Congestion mitigation events", "Monet, sections 5.3 and 6, figures 8 and 9"
	s.Note = "Throttling of the whole fabric, coalesced by a window of 210 s. Whether it alleviated congestion is known only of those that the analysis saw; then less than nine tenths of the stall were left after five intervals."
	events, err := m.figures.Mitigations(ctx, read.MitigationWindow)
	if err != nil {
		return err
	}
	var durations, gaps []float64
	judged, failed, before, after := 0.0, 0.0, []*float64{}, []*float64{}
	for i, e := range events {
		durations = append(durations, float64(e.End-e.Begin)/60e9)
		if i > 0 {
			gaps = append(gaps, float64(e.Begin-events[i-1].Begin)/3600e9)
		}
		if o := e.Outcome; o != nil {
			judged++
			before, after = append(before, value(o.Before)), append(after, value(o.After))
			if !o.Alleviated {
				failed++
			}
		}
	}
	s.Numbers = []Number{number("events", "", "cme/count", "", value(len(events))), number("that did not alleviate congestion", "%", "cme/not alleviated", "", ratio(100*failed, judged)),
		number("median time between", "hours", "cme/between", "", valueIf(len(gaps) > 0, summaryOf("", gaps).Mid))}
	s.Plots = []Plot{{Title: "Durations", Kind: Boxes, YLabel: "minutes", Boxes: []Summary{summaryOf("duration", durations)}},
		{Title: "Times between", Kind: Boxes, YLabel: "hours", Boxes: []Summary{summaryOf("between", gaps)}}}
	if n := min(len(before), 40); n > 0 {
		p := Plot{Title: "Stall of all regions before and after, of the last of them", Kind: Bars, XLabel: "event", YLabel: "links x % of time",
			Series: []Series{{Name: "before", Colour: "Medium", Values: before[len(before)-n:]}, {Name: "after", Colour: "Low", Values: after[len(after)-n:]}}}
		for i := range n {
			p.X = append(p.X, fmt.Sprint(len(before)-n+i+1))
		}
		s.Plots = append(s.Plots, p)
	}
	return nil
}

func (m *maker) jobs(ctx context.Context, s *Section) error {
	s.ID, s.Title, s.Source = "jobs", "Jobs", "Monet, sections 4.1 and 5.3, figure 4b"
	s.Note = "Jobs that ended in the span. A region touched a job if in some hour a link of it began or ended at a device of the job while that ran: an upper bound, as in the paper. Run times are compared among jobs of one name and number of nodes, with 10 runs at least; without a correlation (–), no region touched a run, or all alike."
	jobs, err := m.figures.JobExposures(ctx, schema.NoMetric)
	if err != nil {
		return err
	}
	s.Numbers = []Number{number("jobs", "", "jobs/count", "", value(len(jobs)))}
	for _, severity := range schema.Severities[1:] {
		touched := 0.0
		for _, j := range jobs {
			if j.Worst >= severity {
				touched++
			}
		}
		name := "touched by " + severity.String()
		if severity < schema.High {
			name += " or worse"
		}
		s.Numbers = append(s.Numbers, number(name, "%", "jobs/"+severity.String(), "", ratio(100*touched, float64(len(jobs)))))
	}
	runs := read.RunTimes(jobs, 10, 10)
	s.Table = &Table{Head: []string{"application", "nodes", "runs", "median run", "worst over median", "correlation of run time with highest mean of a region"}}
	for i, r := range runs {
		s.Table.Rows = append(s.Table.Rows, []string{r.Name, fmt.Sprint(r.Nodes), fmt.Sprint(r.Runs), time.Duration(r.MedianSeconds * 1e9).Round(time.Second).String(),
			fmt.Sprintf("%.2f", r.WorstSeconds/r.MedianSeconds), cell("%.2f", r.Correlation)})
		if i == 0 {
			s.Numbers = append(s.Numbers, number("correlation, of the application with the most node time", "", "runs/correlation", "", r.Correlation),
				number("its worst run over the median", "", "runs/worst over the median", "", value(r.WorstSeconds/r.MedianSeconds)))
		}
	}
	return nil
}

func (m *maker) causes(ctx context.Context, s *Section) error {
	s.ID, s.Title, s.Source = "causes", "Causes", "Monet, section 7"
	s.Note = "Diagnoses, one per region and interval, by class of the cause."
	causes, err := m.figures.Causes(ctx)
	if err != nil {
		return err
	}
	s.Table = &Table{Head: []string{"class", "regions", "diagnoses", "mean stall, %", "that accuse a job"}}
	p := Plot{Title: "Diagnoses by class", Kind: Bars, XLabel: "class", YLabel: "diagnoses", Series: []Series{{Name: "diagnoses", Colour: "Low"}}}
	for _, c := range causes {
		s.Table.Rows = append(s.Table.Rows, []string{c.Class, fmt.Sprint(c.Regions), fmt.Sprint(c.Diagnoses), fmt.Sprintf("%.1f", c.MeanPercent), fmt.Sprint(c.Accused)})
		p.X, p.Series[0].Values = append(p.X, c.Class), append(p.Series[0].Values, value(c.Diagnoses))
	}
	s.Plots = []Plot{p}
	return nil
}

func (m *maker) accused(ctx context.Context, s *Section) error {
	const most = 20 // rows
	s.ID, s.Title = "accused-jobs", "Jobs that cause congestion"
	s.Note = "The jobs that diagnoses accuse, by the sum of their blame: a region counts once per interval, and is divided among the jobs that share the blame. Only as far back as diagnoses are kept (store.keep_regions)."
	jobs, err := m.figures.AccusedJobs(ctx, most)
	if err != nil {
		return err
	}
	s.Table = &Table{Head: []string{"job", "application", "regions", "diagnoses", "sum of blame", "mean stall, %"}}
	for _, j := range jobs {
		s.Table.Rows = append(s.Table.Rows, []string{j.JobID, j.Name, fmt.Sprint(j.Regions), fmt.Sprint(j.Diagnoses), fmt.Sprintf("%.1f", j.Blamed), fmt.Sprintf("%.1f", j.MeanPercent)})
	}
	return nil
}

func (m *maker) forecasts(ctx context.Context, s *Section) error {
	s.ID, s.Title = "forecasts", "Skill of forecasts"
	s.Note = "The mean Brier score, 0 (perfect) to 2, of the forecasts of regions' states, compared with that of persistence, which says that every region stays as it is."
	skills, err := m.figures.ForecastSkill(ctx)
	if err != nil {
		return err
	}
	s.Table = &Table{Head: []string{"intervals ahead", "forecasts", "Brier score", "of persistence"}}
	for _, k := range []struct {
		ahead int
		schema.ForecastSkill
	}{{1, skills.Next}, {schema.LaterIntervals, skills.Later}} {
		brier, persistence := none, none
		if k.Forecasts > 0 {
			brier, persistence = fmt.Sprintf("%.3f", k.Brier), fmt.Sprintf("%.3f", k.Persistence)
		}
		s.Table.Rows = append(s.Table.Rows, []string{fmt.Sprint(k.ahead), fmt.Sprint(k.Forecasts), brier, persistence})
	}
	return nil
}
