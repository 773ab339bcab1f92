package ondemand

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/run"
)

// news turns the events of a search into reports.
type news struct {
	send      func(json.RawMessage)
	gigabytes func() float64
	every     time.Duration

	mu    sync.Mutex
	state schema.SearchReport          // guarded by mu; without findings
	fresh []schema.SearchFinding       // guarded by mu; not yet reported
	all   map[int]schema.SearchFinding // guarded by mu; not withdrawn, by experiment
	sent  time.Time                    // guarded by mu
}

func newNews(state schema.SearchReport, send func(json.RawMessage), gigabytes func() float64, every time.Duration) *news {
	return &news{send: send, gigabytes: gigabytes, every: every, state: state, all: map[int]schema.SearchFinding{}}
}

// finding queues a finding for the next progress report.
func (n *news) finding(f run.Finding) error {
	out, err := findingOf(&f.Finding)
	if err != nil {
		return err
	}
	n.add(out)
	return nil
}

func (n *news) add(out schema.SearchFinding) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fresh = append(n.fresh, out)
	if out.Withdrawn() {
		delete(n.all, out.Experiment)
	} else {
		n.all[out.Experiment] = out
	}
}

func findingOf(f *search.Finding) (out schema.SearchFinding, err error) {
	out = schema.SearchFinding{Experiment: f.Anomaly.Experiment, Revised: f.Revised, Symptom: string(f.Anomaly.Symptom), MFS: json.RawMessage("null")}
	if out.Workload, err = json.Marshal(f.Anomaly.Workload); err != nil {
		return out, err
	}
	if f.Anomaly.MFS != nil {
		out.MFS, err = json.Marshal(f.Anomaly.MFS.Everywhere()) // the knowledge base does not know the restriction
	}
	return out, err
}

func (n *news) progress(p run.Progress) {
	n.mu.Lock()
	n.take(&p.Summary)
	due := time.Since(n.sent) >= n.every
	n.mu.Unlock()
	if due {
		n.now()
	}
}

// take updates the progress; n.mu is held.
func (n *news) take(s *search.Summary) {
	n.state.Experiments, n.state.Failed, n.state.Seconds, n.state.Anomalies = s.Experiments, s.Failed, s.Seconds, s.Anomalies
}

// now sends a report.
func (n *news) now() {
	n.mu.Lock()
	report := n.state
	report.Gigabytes, report.Anomalies = n.gigabytes(), len(n.all)
	report.Findings, n.fresh, n.sent = n.fresh, nil, time.Now()
	n.mu.Unlock()
	n.send(encode(&report))
}

// last is the final answer: all standing findings, as many as fit, and those withdrawn since the last report.
func (n *news) last(s *search.Summary) json.RawMessage {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s.Experiments >= n.state.Experiments { // a run that failed has no summary
		n.take(s)
	}
	report := n.state
	report.Gigabytes, report.Anomalies = n.gigabytes(), len(n.all)
	for _, experiment := range slices.Sorted(maps.Keys(n.all)) {
		report.Findings = append(report.Findings, n.all[experiment])
	}
	for _, f := range n.fresh {
		if f.Withdrawn() {
			report.Findings = append(report.Findings, f)
		}
	}
	text := encode(&report)
	for len(text) > command.MaxOutputBytes && len(report.Findings) > 0 {
		half := (len(report.Findings) + 1) / 2
		report.Findings, report.Dropped = report.Findings[half:], report.Dropped+half
		text = encode(&report)
	}
	return text
}

func encode(r *schema.SearchReport) json.RawMessage {
	text, err := json.Marshal(r)
	if err != nil { // its raw parts were marshalled before
		panic("search: " + err.Error())
	}
	return text
}
