package dashboards

import (
	"context"
	"errors"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/internal/problem"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

type hostParameters struct {
	runQuestion
	Model string `query:"model" doc:"Only hosts of this model; default: all."`
}

type hostList struct {
	inSpan
	// Hosts that were probed, each with its newest report, those with a verdict first, at most 10000.
	Hosts []read.HostRun `json:"hosts"`
}

func (d *Dashboards) hosts(ctx context.Context, p *hostParameters) (*hostList, error) {
	span, list, err := ask(d, p.Fabric, p.From, p.To, runSpan, func(fabric string, s read.Span) ([]read.HostRun, error) {
		return d.model.HostStates(ctx, fabric, s, p.Model, read.MaxHosts)
	})
	return &hostList{span, list}, err
}

type hostRunParameters struct {
	runQuestion
	Host string `path:"host" doc:"Name of the host's agent."`
}

const maxHostRuns = 1000

type hostRunList struct {
	inSpan
	// Runs, the newest first, at most 1000.
	Runs []read.HostRun `json:"runs"`
}

func (d *Dashboards) hostRuns(ctx context.Context, p *hostRunParameters) (*hostRunList, error) {
	span, list, err := ask(d, p.Fabric, p.From, p.To, runSpan, func(fabric string, s read.Span) ([]read.HostRun, error) {
		return d.model.HostRuns(ctx, fabric, s, read.HostRunFilter{Agent: p.Host}, maxHostRuns)
	})
	return &hostRunList{span, list}, err
}

type hostReportParameters struct {
	ofFabric
	Host string `path:"host" doc:"Name of the host's agent."`
	Run  string `query:"run" doc:"Id of a run; default: the newest with a report."`
}

// hostReport is a run's measurements, and the host's graph.
type hostReport struct {
	Run    read.HostRun    `json:"run"`
	Report hostping.Report `json:"report"`
	// Graph of the host; empty if it did not fit into the agent's answer.
	Graph hostGraph `json:"graph"`
}

// hostGraph is the internal topology of a host: its RNICs, GPUs and memory, the links between them, and the path of each
// pair.
type hostGraph hostping.Graph

func (d *Dashboards) hostReport(ctx context.Context, p *hostReportParameters) (*hostReport, error) {
	f, err := d.fabricOf(p.Fabric)
	if err != nil {
		return nil, err
	}
	r, err := d.model.HostReport(ctx, f.name, p.Host, p.Run)
	if errors.Is(err, read.ErrNotFound) {
		return nil, problem.NotFound("no report of host %s; GET %s/fabrics/%s/hosts lists those that were probed", p.Host, Prefix, f.name)
	}
	return &hostReport{r.Run, r.Report, hostGraph(r.Graph)}, err
}

type hostOutlierParameters struct {
	runQuestion
	Model   string  `query:"model" doc:"Only hosts of this model; default: all."`
	Percent float64 `query:"percent" default:"20" min:"1" max:"100" doc:"Minimum deviation of a pair from the median of its model, in percent."`
}

type hostOutlierList struct {
	inSpan
	// Outliers, the slowest first, at most 10000.
	Outliers []read.HostOutlier `json:"outliers"`
}

func (d *Dashboards) hostOutliers(ctx context.Context, p *hostOutlierParameters) (*hostOutlierList, error) {
	span, list, err := ask(d, p.Fabric, p.From, p.To, runSpan, func(fabric string, s read.Span) ([]read.HostOutlier, error) {
		return d.model.HostOutliers(ctx, fabric, s, p.Model, p.Percent, read.MaxHosts)
	})
	return &hostOutlierList{span, list}, err
}

type hostModelParameters struct {
	ofFabric
}

type hostModelList struct {
	// Models of hosts with a baseline in the store.
	Models []hostModel `json:"models"`
}

// hostModel is a model of hosts, and the hosts that its baseline was taken on.
type hostModel struct {
	Model  string         `json:"model"`
	Hosts  []string       `json:"hosts"`
	Newest schema.Instant `json:"newest"`
	Pairs  int            `json:"pairs"`
}

func (d *Dashboards) hostModels(ctx context.Context, p *hostModelParameters) (*hostModelList, error) {
	f, err := d.fabricOf(p.Fabric)
	if err != nil {
		return nil, err
	}
	list, err := d.model.HostBaselines(ctx, f.name, "")
	out := &hostModelList{Models: []hostModel{}}
	for _, b := range list {
		out.Models = append(out.Models, hostModel{b.Model, b.Agents, b.Newest, len(b.Baseline.Pairs)})
	}
	return out, err
}
