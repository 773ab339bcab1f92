package dashboards

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/search/known"
	"github.com/giverny/giverny/search/report"
	"github.com/giverny/giverny/store/read"
)

// diagnosed is a diagnosis with what is known about its root's NIC and host.
type diagnosed struct {
	schema.Diagnosis
	// KnownAnomalies of the NIC at which back pressure begins; only for slow hosts.
	KnownAnomalies []matchedAnomaly `json:"known_anomalies"`
	// ProbedHost is the result of probes inside the host at which back pressure begins; only for slow hosts, null if it was not probed.
	ProbedHost *probedHost `json:"probed_host"`
}

// matchedAnomaly is a known anomaly of a NIC, with the jobs that trigger it.
type matchedAnomaly struct {
	NICModel string `json:"nic_model"`
	// SameFirmware is true if it was found with the firmware that this NIC has.
	SameFirmware bool            `json:"same_firmware"`
	Symptom      string          `json:"symptom"`
	MFS          json.RawMessage `json:"mfs"`
	SearchID     string          `json:"search_id"` // the newest search that found it
	// Jobs of the diagnosis, or on the host, with a known workload that matches it, or may.
	Jobs []jobMatch `json:"jobs"`
	Text string     `json:"text"`
}

// jobMatch is a job whose workload matches an anomaly.
type jobMatch struct {
	JobID   string        `json:"job_id"`
	Name    string        `json:"name"`
	Verdict known.Verdict `json:"verdict"` // matches, may_match
	Met     []string      `json:"met"`     // dimensions that match: changing one so that it no longer matches avoids the anomaly
	Unknown []string      `json:"unknown"`
}

// slowHosts joins diagnoses of slow hosts with the knowledge base of NICs and with the results of probes inside the hosts.
type slowHosts struct {
	model     *read.Model
	workloads []known.WorkloadConfig // known workloads of jobs
}

// join returns diagnoses with what is known about the hosts that they call slow.
func (s *slowHosts) join(ctx context.Context, fabric string, list []schema.Diagnosis) ([]diagnosed, error) {
	out := make([]diagnosed, len(list))
	span := read.Span{From: read.Newest}
	isSlow := func(one *schema.Diagnosis) bool { return one.Cause.Class == schema.CauseSlowHost && one.Root != nil }
	for i := range list {
		out[i] = diagnosed{list[i], []matchedAnomaly{}, nil}
		if isSlow(&list[i]) {
			span = read.Span{From: min(span.From, list[i].Time), To: max(span.To, list[i].Time+1)}
		}
	}
	byHost := map[string]*hostKnowledge{}
	jobs := func() ([]schema.Job, error) { return s.model.Jobs(ctx, fabric, span) }
	if len(s.workloads) == 0 {
		jobs = func() ([]schema.Job, error) { return nil, nil }
	}
	jobs = sync.OnceValues(jobs)
	for i := range list {
		if !isSlow(&list[i]) {
			continue
		}
		host := cmp.Or(list[i].Root.Peer, list[i].Root.Device)
		k, err := byHost[host], error(nil)
		if k == nil {
			if k, err = s.knowledgeOf(ctx, fabric, host, span); err != nil {
				return nil, err
			}
			byHost[host] = k
		}
		out[i].ProbedHost = probedOf(k.runs, &list[i])
		for j := range k.anomalies {
			all, err := jobs()
			if err != nil {
				return nil, err
			}
			m, err := s.match(k, &k.anomalies[j], jobsOf(all, &list[i], host))
			if err != nil {
				return nil, err
			}
			out[i].KnownAnomalies = append(out[i].KnownAnomalies, m)
		}
	}
	return out, nil
}

// hostKnowledge is what is known about a host and its NIC.
type hostKnowledge struct {
	subsystem schema.Subsystem
	anomalies []read.KnownAnomaly
	runs      []read.HostRun // that probed it, the newest first
}

// knowledgeOf returns what is known about a host, for diagnoses of a span.
func (s *slowHosts) knowledgeOf(ctx context.Context, fabric, host string, span read.Span) (*hostKnowledge, error) {
	k := &hostKnowledge{}
	adapters, err := s.model.Hardware(ctx, fabric, host)
	if err != nil {
		return nil, err
	}
	agent := host
	if len(adapters) > 0 {
		agent, k.subsystem = adapters[0].Agent, adapters[0].Subsystem
		if k.anomalies, err = s.model.KnownAnomalies(ctx, fabric, k.subsystem.NICModel); err != nil {
			return nil, err
		}
	}
	k.runs, err = s.model.RunsNear(ctx, fabric, agent, span)
	return k, err
}

// jobsOf returns the jobs running at a diagnosis' time that it accuses or that are on the host.
func jobsOf(jobs []schema.Job, diagnosis *schema.Diagnosis, host string) (of []schema.Job) {
	for _, j := range jobs {
		accused := slices.ContainsFunc(diagnosis.Jobs, func(a schema.AccusedJob) bool { return a.JobID == j.ID })
		if j.Start <= diagnosis.Time && (j.End == 0 || j.End > diagnosis.Time) && (accused || slices.Contains(j.Nodes, host)) {
			of = append(of, j)
		}
	}
	return of
}

// match says which jobs trigger an anomaly of a host's NIC.
func (s *slowHosts) match(k *hostKnowledge, a *read.KnownAnomaly, jobs []schema.Job) (m matchedAnomaly, err error) {
	m = matchedAnomaly{NICModel: a.Subsystem.NICModel, SameFirmware: a.Subsystem.Firmware == k.subsystem.Firmware, Symptom: a.Symptom, MFS: a.MFS,
		SearchID: a.Searches[0], Jobs: []jobMatch{}}
	m.Text = fmt.Sprintf("%v has a known anomaly: %s", a.Subsystem, report.SentenceOf(a.MFS, a.Symptom))
	for i := range jobs {
		w := known.WorkloadOf(s.workloads, jobs[i].Name)
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
			m.Text += "; the workload of " + schema.JobTitle(jobs[i].ID, jobs[i].Name) + " matches it"
		}
	}
	return m, nil
}

// probedHost is the result of the probes inside a diagnosis' host.
type probedHost struct {
	Host     string             `json:"host"`
	RunID    string             `json:"run_id"`
	Time     schema.Instant     `json:"time"`
	Verdicts []read.HostVerdict `json:"verdicts"` // empty: nothing inside the host is slow
	Text     string             `json:"text"`
}

// probedOf selects the result for a diagnosis from the runs of its host; nil: it was not probed at that time.
func probedOf(runs []read.HostRun, diagnosis *schema.Diagnosis) *probedHost {
	r := read.RunOf(runs, diagnosis)
	if r == nil {
		return nil
	}
	return &probedHost{r.Agent, r.RunID, r.Time, r.Verdicts, r.Sentence}
}
