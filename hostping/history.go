package hostping

import (
	"encoding/json"
	"fmt"
	"slices"
)

// History is the findings of earlier runs about a host's links, oldest first. Only it can show flapping (#6).
type History struct {
	Version int       `json:"version"` // HistoryVersion
	Runs    []PastRun `json:"runs"`
}

// HistoryVersion is the format version.
const HistoryVersion = 1

// PastRun is one run, with link ids of the graph.
type PastRun struct {
	TimeNanos int64    `json:"time_ns"`
	Failed    []string `json:"failed"` // accused of a failure
	Gray      []string `json:"gray"`   // on an abnormal path whose links are all shown sound by other paths (Algorithm 1)
	Normal    []string `json:"normal"` // shown sound by most paths
}

const (
	// flappingRuns is how far back a change counts: two hours with a run every 5 minutes.
	flappingRuns = 24
	// grayRuns consecutive runs make a gray link a flapping one (section 4.3).
	grayRuns = 3
)

// Add returns the history with one more run, without those too old to count.
func (h *History) Add(r PastRun) History {
	runs := append(slices.Clone(h.Runs), r)
	return History{Version: HistoryVersion, Runs: runs[max(0, len(runs)-flappingRuns):]}
}

// ParseHistory reads the JSON of a history.
func ParseHistory(text []byte) (History, error) {
	var h History
	if err := json.Unmarshal(text, &h); err != nil {
		return h, fmt.Errorf("not a history of giverny hostping run: %w; remove it to start over", err)
	}
	if h.Version != HistoryVersion {
		return h, fmt.Errorf("history of version %d, want %d; remove it to start over", h.Version, HistoryVersion)
	}
	return h, nil
}

// pastRun returns the history's record of this run.
func (v *view) pastRun(f *fitter, h *hypothesis, failed []int, algorithm map[string]LinkFinding) PastRun {
	run := PastRun{TimeNanos: v.in.TimeNanos, Failed: []string{}, Gray: []string{}, Normal: []string{}}
	for l, link := range v.links {
		if algorithm[link.ID].Status == Gray {
			run.Gray = append(run.Gray, link.ID)
		}
		well := 0
		for _, i := range f.through[l] {
			if v.routes[i].ratio() >= 1-abnormalShare {
				well++
			}
		}
		switch {
		case slices.Contains(failed, l):
			run.Failed = append(run.Failed, link.ID)
		case !h.has(l) && 2*well > len(f.through[l]):
			run.Normal = append(run.Normal, link.ID)
		}
	}
	return run
}

// flapped reports whether a link was bad in some run and good in a later one; runs ends with the current run.
func flapped(runs []PastRun, link string) bool {
	bad := false
	for _, r := range runs {
		switch {
		case slices.Contains(r.Failed, link):
			bad = true
		case bad && slices.Contains(r.Normal, link):
			return true
		}
	}
	return false
}

// flapping reports links that were good again after being bad, or gray in three consecutive runs. For memory channels
// it is bottleneck #6. The paper has no name for other links: a failure now stands, and a change is noted.
func (v *view) flapping(a *Analysis) {
	if v.in.History == nil {
		return
	}
	runs := append(slices.Clone(v.in.History.Runs), a.Run)
	runs = runs[max(0, len(runs)-flappingRuns):]
	for _, link := range v.links {
		gray := v.grayInARow(runs, link.ID)
		if !flapped(runs, link.ID) && !gray {
			continue
		}
		if link.Kind != Memory {
			if !gray {
				v.notes = append(v.notes, fmt.Sprintf("%s is flapping: it was slow in an earlier run and normal in a later one", link.ID))
			}
			continue
		}
		v.flap(a, link, gray)
	}
}

// grayInARow reports whether a link was gray in the last three runs.
func (v *view) grayInARow(runs []PastRun, link string) bool {
	return len(runs) >= grayRuns && !slices.ContainsFunc(runs[len(runs)-grayRuns:], func(r PastRun) bool { return !slices.Contains(r.Gray, link) })
}

// flap makes the verdict for a memory channel, replacing that of its failure if there is one.
func (v *view) flap(a *Analysis, link Link, gray bool) {
	text := fmt.Sprintf("memory channel of %s is flapping: it was slow in an earlier run and normal in a later one", link.B)
	if gray {
		text = fmt.Sprintf("memory channel of %s is flapping: slow to some RNICs and normal to others in three runs in a row", link.B)
	}
	for i := range a.Report.Verdicts {
		if w := &a.Report.Verdicts[i]; w.Link == link.ID && w.Bottleneck == MemoryChannelFailure {
			w.Bottleneck, w.Text = MemoryChannelFlapping, text
			return
		}
	}
	e := Evidence{Abnormal: [][2]string{}, Cleared: map[string][2]string{}}
	for i := range v.routes {
		if r := &v.routes[i]; r.Endpoint == link.B && r.ratio() < 1-abnormalShare {
			e.Abnormal = append(e.Abnormal, [2]string{r.RNIC, r.Endpoint})
		}
	}
	a.Report.Verdicts = append(a.Report.Verdicts, Verdict{Bottleneck: MemoryChannelFlapping, Link: link.ID, Endpoint: link.B,
		Confidence: confidence(flappingGap), OverloadedBy: []Consumer{}, Evidence: e, Text: text})
}

// flappingGap is the gap for a repeated observation in the history.
const flappingGap = 8.

// isFailure reports whether a bottleneck persists until it is repaired, so that a change is flapping.
func isFailure(b Bottleneck) bool {
	switch b {
	case RNICPCIeFailure, GPUPCIeFailure, MemoryChannelFailure, InterSocketFailure, RootPortFailure:
		return true
	}
	return false
}
