package report

import (
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"

	"github.com/giverny/giverny/search"
)

// Search is the input of a report.
type Search struct {
	Title       string
	Description search.Description // of the engine; no line rate: unknown
	Algorithm   search.Algorithm
	Seed        uint64
	Began       time.Time
	Sums
	// Measurements in order, including invalid ones; none: only Sums are known.
	Measurements []search.Measurement
	Findings     [][]byte // lines of the report
}

// Sums of a search.
type Sums struct {
	Experiments, Failed, Invalid int
	Hours                        float64 // total duration of the experiments
}

// finding is an anomaly in its final state.
type finding struct {
	Experiment  int
	Hours       float64
	Symptom     search.Symptom
	Sentence    string
	Workload    string // JSON
	MFS         string // JSON
	RevisedAt   []int
	WithdrawnAt int
}

// page is the template's data.
type page struct {
	Search
	Standing, Withdrawn []finding
	Plots               []template.HTML
}

// Write writes a self-contained HTML page.
func Write(w io.Writer, s Search) error {
	p := page{Search: s}
	var experiments []search.Measurement
	if len(s.Measurements) > 0 {
		experiments = p.count()
	}
	all, err := findings(s.Findings, experiments)
	if err != nil {
		return err
	}
	for _, f := range all {
		if f.WithdrawnAt > 0 {
			p.Withdrawn = append(p.Withdrawn, f)
		} else {
			p.Standing = append(p.Standing, f)
		}
	}
	p.Plots = plots(&p, experiments)
	return pageTemplate.Execute(w, &p)
}

// count computes the sums, and returns the measurements that are experiments.
func (p *page) count() (experiments []search.Measurement) {
	p.Sums = Sums{}
	for _, m := range p.Measurements {
		if m.Status == search.Invalid {
			p.Invalid++
			continue
		}
		if m.Status != search.OK {
			p.Failed++
		}
		p.Hours += m.Seconds / 3600
		experiments = append(experiments, m)
	}
	p.Experiments = len(experiments)
	return experiments
}

// findings converts the lines of a report to the anomalies in their final state.
func findings(lines [][]byte, experiments []search.Measurement) ([]finding, error) {
	var all []finding
	for i, line := range lines {
		var f struct {
			Type       string          `json:"type"`
			Experiment int             `json:"experiment"`
			Of         int             `json:"of"`
			Seconds    float64         `json:"seconds"`
			Symptom    search.Symptom  `json:"symptom"`
			Workload   json.RawMessage `json:"workload"`
			MFS        json.RawMessage `json:"mfs"`
		}
		if err := json.Unmarshal(line, &f); err != nil {
			return nil, fmt.Errorf("finding %d: %w", i+1, err)
		}
		at := len(all)
		switch f.Type {
		case "anomaly":
			all = append(all, finding{Experiment: f.Experiment, Hours: f.Seconds / 3600, Symptom: f.Symptom, Workload: string(f.Workload)})
		case "revised":
			if at = slices.IndexFunc(all, func(a finding) bool { return a.Experiment == f.Of && a.WithdrawnAt == 0 }); at < 0 {
				return nil, fmt.Errorf("finding %d revises the anomaly of experiment %d, which does not exist", i+1, f.Of)
			}
			all[at].RevisedAt = append(all[at].RevisedAt, f.Experiment)
			if string(f.MFS) == "null" {
				all[at].WithdrawnAt = f.Experiment
				continue
			}
		default:
			continue
		}
		var mfs map[string]search.Condition
		if err := json.Unmarshal(f.MFS, &mfs); err != nil {
			return nil, fmt.Errorf("finding %d: mfs: %w", i+1, err)
		}
		var shown search.Measurement
		if n := all[at].Experiment; n >= 1 && n <= len(experiments) {
			shown = experiments[n-1]
		}
		all[at].MFS = string(f.MFS)
		all[at].Sentence = Sentence(mfs, all[at].Symptom, shown)
	}
	slices.SortStableFunc(all, func(a, b finding) int { return a.Experiment - b.Experiment })
	return all, nil
}

var pageTemplate = template.Must(template.New("report").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Search of {{.Title}}</title>
<style>
body{font:15px/1.45 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em;color:#1d2733}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.35em .6em;border-bottom:1px solid #d5dbe1}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}code{font-size:12px;overflow-wrap:anywhere}
svg{width:100%;height:auto;margin:1em 0}.withdrawn{color:#6b7682}dt{float:left;clear:left;width:14em;color:#55606c}dd{margin-left:14em}
</style></head><body>
<h1>Search of {{.Title}}</h1>
<dl>
<dt>begun</dt><dd>{{if .Began.IsZero}}not recorded{{else}}{{.Began.UTC.Format "2006-01-02 15:04:05 UTC"}}{{end}}</dd>
<dt>algorithm</dt><dd>{{.Algorithm}}, seed {{.Seed}}</dd>
{{if .Description.LineRateGbps}}<dt>bounds</dt><dd>{{printf "%.4g" .Description.LineRateGbps}} Gb/s and {{printf "%.4g" .Description.MessageRateMpps}} million packets a second in each direction</dd>
{{end}}<dt>experiments</dt><dd>{{.Experiments}}, of which {{.Failed}} failed; {{if .Measurements}}{{.Invalid}} workloads were invalid{{else}}measurements are not kept{{end}}</dd>
<dt>time of the experiments</dt><dd>{{printf "%.1f" .Hours}} h</dd>
<dt>anomalies</dt><dd>{{len .Standing}}{{with .Withdrawn}}, and {{len .}} withdrawn{{end}}</dd>
</dl>
{{range .Plots}}{{.}}
{{end}}
<h2>Anomalies</h2>
{{if .Standing}}<table><tr><th class="n">experiment</th><th class="n">after</th><th>what triggers it, and what is seen</th></tr>
{{range .Standing}}<tr><td class="n">{{.Experiment}}</td><td class="n">{{printf "%.1f h" .Hours}}</td><td>{{.Sentence}}
<details><summary>as JSON</summary><p>MFS <code>{{.MFS}}</code></p><p>workload <code>{{.Workload}}</code></p>{{with .RevisedAt}}<p>revised at experiment {{range $i, $n := .}}{{if $i}}, {{end}}{{$n}}{{end}}</p>{{end}}</details></td></tr>
{{end}}</table>{{else}}<p>None.</p>{{end}}
{{with .Withdrawn}}<h2>Withdrawn</h2><table class="withdrawn"><tr><th class="n">experiment</th><th class="n">withdrawn at</th><th>what was reported</th></tr>
{{range .}}<tr><td class="n">{{.Experiment}}</td><td class="n">{{.WithdrawnAt}}</td><td>{{.Sentence}}</td></tr>
{{end}}</table>{{end}}
</body></html>
`))
