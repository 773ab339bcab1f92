// Package dispatchtest fakes a bus with agents, a store and Slurm, for tests of what launches commands for diagnoses.
package dispatchtest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/command/dispatch"
	"github.com/giverny/giverny/feedback/record"
	"github.com/giverny/giverny/feedback/record/recordtest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// Site fakes a dispatcher's dependencies, and the store of the audit.
type Site struct {
	Hosts   []dispatch.Host // those that answer
	Drained map[string]string
	Failing error // error of the store
	Refuses bool  // the agents refuse

	Sent []schema.Command // guarded by mu while a policy runs
	mu   sync.Mutex
}

// HostOf returns an agent's host with one adapter, whose device is named "AGENT HCA-1".
func HostOf(agent, adapter, model, firmware string, kinds ...string) dispatch.Host {
	return dispatch.Host{Agent: agent, Kinds: kinds, Hardware: schema.HostHardware{CPU: "EPYC", NPS: 4,
		Adapters: []schema.Adapter{{Name: adapter, Device: agent + " HCA-1", Model: model, Firmware: firmware}}}}
}

// SlowHost returns a diagnosis whose root leads to a host.
func SlowHost(agent string, confidence float64) schema.Diagnosis {
	return schema.Diagnosis{Fabric: "f", Time: schema.InstantOf(time.Now()), Region: 5, Cause: schema.Cause{Class: schema.CauseSlowHost, Confidence: confidence},
		Root: &schema.Root{Link: schema.NoLink, Device: "leaf0", Port: "1", Peer: agent + " HCA-1"}}
}

// Dispatcher returns the dispatcher of fabric f.
func (s *Site) Dispatcher() *dispatch.Dispatcher {
	return &dispatch.Dispatcher{Fabric: "f", Bus: s, Nodes: s, Store: s, Now: time.Now, ListWait: time.Second, StartWait: time.Second}
}

// New implements dispatch.Bus.
func (s *Site) New(o command.Order) (schema.Command, error) {
	return schema.Command{ID: fmt.Sprintf("C%d", time.Now().UnixNano()), Kind: o.Kind, Targets: o.Targets, Arguments: o.Arguments, Principal: "policy"}, nil
}

// Ask implements dispatch.Bus.
func (s *Site) Ask(_ context.Context, c *schema.Command, _ time.Duration, _ int) (answers []command.Answer, err error) {
	for _, h := range s.Hosts {
		output, err := json.Marshal(command.AgentStatus{Hardware: &h.Hardware, Kinds: h.Kinds})
		if err != nil {
			return nil, err
		}
		answers = append(answers, command.Answer{CommandResult: schema.CommandResult{CommandID: c.ID, Agent: h.Agent, Status: schema.CommandDone, Output: output}})
	}
	return answers, nil
}

// Begin implements dispatch.Bus.
func (s *Site) Begin(_ context.Context, c *schema.Command, _ time.Duration, _ int) ([]command.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Sent = append(s.Sent, *c)
	status := schema.CommandAccepted
	if s.Refuses {
		status = schema.CommandRefused
	}
	return []command.Answer{{CommandResult: schema.CommandResult{Agent: c.Targets[0], Status: status, Reason: "so there"}}}, nil
}

// NewestDiagnoses implements dispatch.Store.
func (s *Site) NewestDiagnoses(context.Context, string, read.Span, uint64, int) ([]schema.Diagnosis, error) {
	return nil, s.Failing
}

// Hardware implements dispatch.Store.
func (s *Site) Hardware(context.Context, string, string) ([]read.HostAdapter, error) {
	return nil, s.Failing
}

// OutOfUse implements dispatch.Nodes.
func (s *Site) OutOfUse(context.Context, []string) (map[string]string, error) { return s.Drained, nil }

// Policy is a policy under test.
type Policy interface {
	Put(ctx context.Context, r *schema.IntervalResult) error
	Run(ctx context.Context) error
}

// Audit passes diagnoses to a policy one by one, in a synctest bubble, and returns the audit entry of each, "OUTCOME
// TARGET: REASON", and the registry with its counters.
func (s *Site) Audit(t *testing.T, sink string, reasons []string, policy func(*record.Recorder) Policy, diagnoses ...schema.Diagnosis) (audit []string, registry *prometheus.Registry) {
	t.Helper()
	rec := recordtest.New(t, sink, reasons)
	p := policy(rec.Recorder)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = p.Run(ctx) })
	running.Go(func() { _ = rec.Trail.Run(ctx) })
	for _, d := range diagnoses {
		if err := p.Put(ctx, &schema.IntervalResult{Diagnoses: []schema.Diagnosis{d}}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	}
	cancel()
	running.Wait()
	for _, a := range rec.Audit.Rows() {
		if a.Sink != sink || a.Action != "launch" || !slices.ContainsFunc(diagnoses, func(d schema.Diagnosis) bool { return d.Fabric == a.Fabric }) {
			t.Errorf("action %+v", a)
		}
		audit = append(audit, fmt.Sprintf("%s %s: %s", a.Outcome, a.Target, a.Reason))
	}
	return audit, rec.Registry
}

// Matches reports whether the audit entries contain these parts, one each, and sent
// commands were sent.
func (s *Site) Matches(audit, parts []string, sent int) bool {
	ok := len(audit) == len(parts) && len(s.Sent) == sent
	for i := range min(len(audit), len(parts)) {
		ok = ok && strings.Contains(audit[i], parts[i])
	}
	return ok
}
