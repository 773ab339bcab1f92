package dashboards

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/giverny/giverny/internal/problem"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/search/known"
	"github.com/giverny/giverny/search/report"
	"github.com/giverny/giverny/store/read"
)

// searchSpan is how far back searches are listed that no span is given for.
const searchSpan = 30 * 24 * time.Hour

type searchParameters struct {
	ofFabric
	From *moment `query:"from" doc:"Searches that were requested at this time or later; without it 30 days before to."`
	To   *moment `query:"to" doc:"Searches that were requested before this time; without it now."`
}

type searchList struct {
	inSpan
	// Searches, the newest first, at most 1000.
	Searches []read.Search `json:"searches"`
}

func (d *Dashboards) searches(ctx context.Context, p *searchParameters) (*searchList, error) {
	f, err := d.fabricOf(p.Fabric)
	if err != nil {
		return nil, err
	}
	span, err := spanBackFrom(p.From, p.To, searchSpan)
	if err != nil {
		return nil, err
	}
	list, err := d.model.Searches(ctx, f.name, span, read.MaxSearches)
	return &searchList{inSpan{span.From, span.To}, append([]read.Search{}, list...)}, err
}

type oneSearchParameters struct {
	ofFabric
	Search string `path:"search" doc:"Id of a search, that of its command."`
}

// oneSearch is a search with the answers of its agents.
type oneSearch struct {
	Search read.Search `json:"search"`
	// Answers of the agents, as the audit has them; progress without its findings.
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
	NICModel string `query:"nic_model" doc:"Of this NIC model; without it of all."`
	Firmware string `query:"firmware" doc:"Of this firmware; without it of all."`
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

// WorkloadsOf says what the workloads of jobs are known to be.
func (d *Dashboards) WorkloadsOf(list []known.WorkloadConfig) { d.workloads = list }

// diagnosed is a diagnosis with what is known of its root's NIC and host.
type diagnosed struct {
	schema.Diagnosis
	// KnownAnomalies of the NIC at which back pressure begins; of slow hosts alone.
	KnownAnomalies []matchedAnomaly `json:"known_anomalies"`
	// ProbedHost is what probes inside the host at which back pressure begins came to; of slow hosts alone, null where it was not probed.
	ProbedHost *probedHost `json:"probed_host"`
}

// matchedAnomaly is a known anomaly of a NIC, and which jobs meet it.
type matchedAnomaly struct {
	NICModel string `json:"nic_model"`
	// SameFirmware says that it was found with the firmware that this NIC has.
	SameFirmware bool            `json:"same_firmware"`
	Symptom      string          `json:"symptom"`
	MFS          json.RawMessage `json:"mfs"`
	SearchID     string          `json:"search_id"` // the newest that found it
	// Jobs of the diagnosis, or on the host, whose workload is known and meets it, or may.
	Jobs []jobMatch `json:"jobs"`
	Text string     `json:"text"`
}

// jobMatch is a job whose workload meets an anomaly.
type jobMatch struct {
	JobID   string        `json:"job_id"`
	Name    string        `json:"name"`
	Verdict known.Verdict `json:"verdict"` // matches, may_match
	Met     []string      `json:"met"`     // dimensions: to change one so that it is met no more avoids the anomaly
	Unknown []string      `json:"unknown"`
}

// withKnown joins diagnoses of slow hosts with the knowledge base and with what probes inside the hosts found.
func (d *Dashboards) withKnown(ctx context.Context, fabric string, list []schema.Diagnosis) ([]diagnosed, error) {
	out := make([]diagnosed, len(list))
	byHost := map[string]*hostKnowledge{}
	for i := range list {
		out[i] = diagnosed{list[i], []matchedAnomaly{}, nil}
		if list[i].Cause.Class != schema.CauseSlowHost || list[i].Root == nil {
			continue
		}
		var err error
		if out[i].ProbedHost, err = d.probedOf(ctx, &list[i]); err != nil {
			return nil, err
		}
		host := cmp.Or(list[i].Root.Peer, list[i].Root.Device)
		k := byHost[host]
		if k == nil {
			if k, err = d.knowledgeOf(ctx, fabric, host); err != nil {
				return nil, err
			}
			byHost[host] = k
		}
		if len(k.anomalies) == 0 {
			continue
		}
		jobs, err := d.jobsOf(ctx, fabric, &list[i], host)
		if err != nil {
			return nil, err
		}
		for j := range k.anomalies {
			m, err := d.match(k, &k.anomalies[j], jobs)
			if err != nil {
				return nil, err
			}
			out[i].KnownAnomalies = append(out[i].KnownAnomalies, m)
		}
	}
	return out, nil
}

// hostKnowledge is what is known of a host's NIC.
type hostKnowledge struct {
	subsystem schema.Subsystem
	anomalies []read.KnownAnomaly
}

func (d *Dashboards) knowledgeOf(ctx context.Context, fabric, host string) (*hostKnowledge, error) {
	adapters, err := d.model.Hardware(ctx, fabric, host)
	if err != nil || len(adapters) == 0 {
		return &hostKnowledge{}, err
	}
	k := &hostKnowledge{subsystem: adapters[0].Subsystem}
	k.anomalies, err = d.model.KnownAnomalies(ctx, fabric, k.subsystem.NICModel)
	return k, err
}

// jobsOf are the jobs that a diagnosis accuses, and those that ran on the host then.
func (d *Dashboards) jobsOf(ctx context.Context, fabric string, diagnosis *schema.Diagnosis, host string) ([]schema.Job, error) {
	if len(d.workloads) == 0 {
		return nil, nil
	}
	jobs, err := d.model.Jobs(ctx, fabric, read.Span{From: diagnosis.Time, To: diagnosis.Time + 1})
	return slices.DeleteFunc(jobs, func(j schema.Job) bool {
		accused := slices.ContainsFunc(diagnosis.Jobs, func(a schema.AccusedJob) bool { return a.JobID == j.ID })
		return !accused && !slices.Contains(j.Nodes, host)
	}), err
}

func (d *Dashboards) match(k *hostKnowledge, a *read.KnownAnomaly, jobs []schema.Job) (m matchedAnomaly, err error) {
	m = matchedAnomaly{NICModel: a.Subsystem.NICModel, SameFirmware: a.Subsystem.Firmware == k.subsystem.Firmware, Symptom: a.Symptom, MFS: a.MFS,
		SearchID: a.Searches[0], Jobs: []jobMatch{}}
	m.Text = fmt.Sprintf("%v has a known anomaly: %s", a.Subsystem, report.SentenceOf(a.MFS, a.Symptom))
	for i := range jobs {
		w := known.WorkloadOf(d.workloads, jobs[i].Name)
		if w == nil {
			continue
		}
		found, err := known.Compare(a.MFS, w)
		if err != nil {
			return m, fmt.Errorf("search %s: %w", m.SearchID, err)
		}
		if found.Verdict == known.Different {
			continue
		}
		m.Jobs = append(m.Jobs, jobMatch{jobs[i].ID, jobs[i].Name, found.Verdict, found.Met, found.Unknown})
		if found.Verdict == known.Matches {
			m.Text += fmt.Sprintf("; the workload of job %s (%s) matches it", jobs[i].ID, jobs[i].Name)
		}
	}
	return m, nil
}
