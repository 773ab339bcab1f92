package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/report"
	"github.com/giverny/giverny/store/read"
)

// StoredSearch reads a search and its findings.
func StoredSearch(ctx context.Context, m *read.Model, fabric, id string) (s read.Search, findings []read.Finding, err error) {
	s, err = m.Search(ctx, fabric, id)
	if errors.Is(err, read.ErrNotFound) {
		return s, nil, fmt.Errorf("no search %s of fabric %s is stored; giverny search list shows the stored ones", id, fabric)
	}
	if err != nil {
		return s, nil, err
	}
	findings, err = m.SearchFindings(ctx, fabric, id)
	return s, findings, err
}

// SearchReport returns what the store has of a search: the anomalies and totals of one of its agents, or of the only one.
func (p *Process) SearchReport(ctx context.Context, fabric, id, agent string) (s report.Search, err error) {
	var found read.Search
	var anomalies []read.Finding
	err = p.Reading(ctx, fabric, func(ctx context.Context, m *read.Model, fabric string) (err error) {
		found, anomalies, err = StoredSearch(ctx, m, fabric, id)
		return err
	})
	if err != nil {
		return s, err
	}
	ran, err := agentOf(&found, agent)
	if err != nil {
		return s, err
	}
	s = report.Search{Title: ran.Subsystem.String() + " on " + ran.Agent, Algorithm: search.Algorithm(found.Algorithm), Seed: found.Seed,
		Began: time.Unix(0, int64(found.Requested)), Sums: report.Sums{Experiments: ran.Experiments, Failed: ran.Failed, Hours: ran.Seconds / 3600}}
	for _, a := range anomalies {
		if a.Agent != ran.Agent {
			continue
		}
		line, err := json.Marshal(struct {
			Type       string          `json:"type"`
			Experiment int             `json:"experiment"`
			Symptom    string          `json:"symptom"`
			Workload   json.RawMessage `json:"workload"`
			MFS        json.RawMessage `json:"mfs"`
		}{"anomaly", a.Experiment, a.Symptom, a.Workload, a.MFS})
		if err != nil {
			return s, err
		}
		s.Findings = append(s.Findings, line)
	}
	return s, nil
}

// agentOf returns the agent of a search with a name, or without a name the only one.
func agentOf(s *read.Search, name string) (read.SearchAgent, error) {
	var names []string
	for _, a := range s.Agents {
		if a.Agent == name || name == "" && len(s.Agents) == 1 {
			return a, nil
		}
		names = append(names, a.Agent)
	}
	if len(names) == 0 {
		return read.SearchAgent{}, fmt.Errorf("search %s: no agent has answered yet", s.ID)
	}
	return read.SearchAgent{}, fmt.Errorf("search %s: give --agent, one of %s", s.ID, strings.Join(names, ", "))
}
