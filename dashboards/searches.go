package dashboards

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/giverny/giverny/internal/problem"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// searchSpan is the length of the span of searches if none is given.
const searchSpan = 30 * 24 * time.Hour

type searchParameters struct {
	ofFabric
	From *moment `query:"from" doc:"Searches requested at this time or later; default: 30 days before to."`
	To   *moment `query:"to" doc:"Searches requested before this time; default: now."`
}

type searchList struct {
	inSpan
	// Searches, the newest first, at most 1000.
	Searches []read.Search `json:"searches"`
}

func (d *Dashboards) searches(ctx context.Context, p *searchParameters) (*searchList, error) {
	span, list, err := ask(d, p.Fabric, p.From, p.To, searchSpan, func(fabric string, s read.Span) ([]read.Search, error) {
		return d.model.Searches(ctx, fabric, s, read.MaxSearches)
	})
	return &searchList{span, list}, err
}

type oneSearchParameters struct {
	ofFabric
	Search string `path:"search" doc:"Id of a search, that of its command."`
}

// oneSearch is a search with the answers of its agents.
type oneSearch struct {
	Search read.Search `json:"search"`
	// Answers of the agents, as in the audit; progress without its findings.
	Answers []searchAnswer `json:"answers"`
}

// searchAnswer is one answer of an agent.
type searchAnswer struct {
	Agent    string               `json:"agent"`
	Time     schema.Instant       `json:"time"`
	Status   schema.CommandStatus `json:"status"`
	Sequence uint32               `json:"sequence,omitempty"`
	Reason   string               `json:"reason,omitempty"`
}

func (d *Dashboards) search(ctx context.Context, p *oneSearchParameters) (*oneSearch, error) {
	f, err := d.fabricOf(p.Fabric)
	if err != nil {
		return nil, err
	}
	s, err := d.model.Search(ctx, f.name, p.Search)
	if errors.Is(err, read.ErrNotFound) {
		return nil, problem.NotFound("no such search; GET %s/fabrics/%s/searches lists them", Prefix, f.name)
	}
	if err != nil {
		return nil, err
	}
	results, err := d.model.CommandResults(ctx, f.name, p.Search)
	if err != nil {
		return nil, err
	}
	answers := make([]searchAnswer, len(results))
	for i, r := range results {
		answers[i] = searchAnswer{r.Agent, r.Time, r.Status, r.Sequence, r.Reason}
	}
	return &oneSearch{s, answers}, nil
}

type findingList struct {
	Findings []read.Finding `json:"findings"`
}

func (d *Dashboards) searchFindings(ctx context.Context, p *oneSearchParameters) (*findingList, error) {
	f, err := d.fabricOf(p.Fabric)
	if err != nil {
		return nil, err
	}
	list, err := d.model.SearchFindings(ctx, f.name, p.Search)
	return &findingList{append([]read.Finding{}, list...)}, err
}

type knownParameters struct {
	ofFabric
	NICModel string `query:"nic_model" doc:"Only of this NIC model; default: all."`
	Firmware string `query:"firmware" doc:"Only of this firmware; default: all."`
}

type knownList struct {
	Anomalies []read.KnownAnomaly `json:"anomalies"`
}

func (d *Dashboards) knownAnomalies(ctx context.Context, p *knownParameters) (*knownList, error) {
	f, err := d.fabricOf(p.Fabric)
	if err != nil {
		return nil, err
	}
	list, err := d.model.KnownAnomalies(ctx, f.name, p.NICModel)
	list = slices.DeleteFunc(list, func(a read.KnownAnomaly) bool { return p.Firmware != "" && a.Subsystem.Firmware != p.Firmware })
	return &knownList{append([]read.KnownAnomaly{}, list...)}, err
}
