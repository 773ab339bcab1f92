package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/command/dispatch"
	"github.com/giverny/giverny/feedback/record/recordtest"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/test/metric"
	"github.com/giverny/giverny/schema"
)

// slowHost is a diagnosis that a policy with a confidence of 0.8 acts on.
func slowHost(peer string, change func(*schema.Diagnosis)) schema.Diagnosis {
	d := schema.Diagnosis{Fabric: "f", Cause: schema.Cause{Class: schema.CauseSlowHost, Confidence: .8}, Root: &schema.Root{Device: "leaf1", Peer: peer}}
	if change != nil {
		change(&d)
	}
	return d
}

// startQueue runs a queue until stop, which returns the audit, one action per line.
func startQueue(t *testing.T, cfg dispatch.PolicyConfig, plan func(context.Context, schema.Diagnosis) (dispatch.Launch, error)) (q *dispatch.Queue, rec *recordtest.Recorder, stop func() string) {
	t.Helper()
	rec = recordtest.New(t, "probes", dispatch.Reasons())
	q = dispatch.NewQueue("probes", cfg, []string{"f"}, rec.Recorder, time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := q.Each(ctx, plan); err != nil {
			t.Error(err)
		}
	})
	running.Go(func() { rec.Trail.Run(ctx) })
	return q, rec, func() string {
		cancel()
		running.Wait()
		var text strings.Builder
		for _, a := range rec.Audit.Rows() {
			fmt.Fprintf(&text, "%s %s %s %s dry %v score %.0f id %s\n", a.Action, a.Target, a.Outcome, a.Reason, a.DryRun, a.Score, a.After)
		}
		return text.String()
	}
}

// Only diagnoses of slow hosts of its own fabrics, with a root and enough confidence, are acted on; each root once per ten
// minutes, whatever came of it.
func TestWhichDiagnosesAreActedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var planned []string
		q, _, stop := startQueue(t, dispatch.PolicyConfig{Confidence: .8}, func(_ context.Context, d schema.Diagnosis) (dispatch.Launch, error) {
			planned = append(planned, d.Root.Peer)
			return dispatch.Launch{}, dispatch.Refuse(dispatch.RefusedOften, "enough")
		})
		put := func(diagnoses ...schema.Diagnosis) {
			t.Helper()
			for _, d := range diagnoses {
				if err := q.Put(t.Context(), &schema.IntervalResult{Diagnoses: []schema.Diagnosis{d}}); err != nil {
					t.Error(err)
				}
				synctest.Wait()
			}
		}
		put(slowHost("other cause", func(d *schema.Diagnosis) { d.Cause.Class = schema.CauseUnknown }), slowHost("unsure", func(d *schema.Diagnosis) { d.Cause.Confidence = .79 }),
			slowHost("", func(d *schema.Diagnosis) { d.Root = nil }), slowHost("other fabric", func(d *schema.Diagnosis) { d.Fabric = "g" }), slowHost("n1", nil))
		time.Sleep(10*time.Minute - 1)
		put(slowHost("n1", nil), slowHost("n2", nil))
		time.Sleep(time.Nanosecond)
		put(slowHost("n1", nil), slowHost("n2", nil))
		time.Sleep(10 * time.Minute)
		put(slowHost("n2", nil))
		stop()
		if got := fmt.Sprint(planned); got != "[n1 n2 n1 n2]" {
			t.Errorf("planned %s", got)
		}
	})
}

// A diagnosis that comes while others wait is dropped and counted, and may come again at once.
func TestABusyQueueNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := make(chan bool)
		var planned []string
		q, rec, stop := startQueue(t, dispatch.PolicyConfig{Confidence: .8}, func(_ context.Context, d schema.Diagnosis) (dispatch.Launch, error) {
			planned = append(planned, d.Root.Peer)
			<-next
			return dispatch.Launch{}, &dispatch.NoHostError{Err: errors.New("no agent")}
		})
		put := func(peers ...string) {
			r := &schema.IntervalResult{}
			for _, peer := range peers {
				r.Diagnoses = append(r.Diagnoses, slowHost(peer, nil))
			}
			if err := q.Put(t.Context(), r); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		put("n1")
		put("n2", "n3") // n2 waits
		next <- true
		synctest.Wait()
		put("n3")
		next <- true
		next <- true
		synctest.Wait()
		audited := stop()
		if n := metric.Sum(t, rec.Registry, "giverny_feedback_refused_total", dispatch.RefusedBusy); n != 1 {
			t.Errorf("%v dropped as busy, want n3 once", n)
		}
		if got := fmt.Sprint(planned); got != "[n1 n2 n3]" || strings.Count(audited, "refused no_host: no agent dry false score 80") != 3 {
			t.Errorf("planned %s; the audit:\n%s", got, audited)
		}
	})
}

// The audit says what became of a launch, and the state of the sink whether commands can be sent.
func TestOutcomesOfLaunches(t *testing.T) {
	for name, c := range map[string]struct {
		dry   bool
		plan  error
		send  error
		sent  int
		audit string
		state string
	}{
		"sent":        {false, nil, nil, 1, "launch gpu-1 done why dry false score 80 id A1\n", ""},
		"dry run":     {true, nil, nil, 0, "launch gpu-1 done why dry true score 80 id A1\n", ""},
		"not sent":    {false, nil, errors.New("no answer"), 1, "launch gpu-1 failed no answer dry false score 80 id A1\n", "no answer"},
		"refused":     {false, dispatch.Refuse(dispatch.RefusedRunning, "one runs"), nil, 0, "launch n1 refused running: one runs dry false score 80 id \n", ""},
		"not planned": {false, fmt.Errorf("ask: %w", errors.New("away")), nil, 0, "launch n1 refused failed: ask: away dry false score 80 id \n", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			sent := 0
			q, rec, stop := startQueue(t, dispatch.PolicyConfig{Confidence: .8, DryRun: c.dry}, func(context.Context, schema.Diagnosis) (dispatch.Launch, error) {
				return dispatch.Launch{Agent: "gpu-1", Reason: "why", ID: "A1", Send: func() error { sent++; return c.send }}, c.plan
			})
			if err := q.Put(t.Context(), &schema.IntervalResult{Diagnoses: []schema.Diagnosis{slowHost("n1", nil)}}); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if got := stop(); got != c.audit || sent != c.sent || (rec.State() == "") != (c.state == "") || !strings.Contains(rec.State(), c.state) {
				t.Errorf("%s: sent %d times, state %q, audit %s", name, sent, rec.State(), got)
			}
		})
	}
}

func TestQuota(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	q := dispatch.NewQuota[string]("probes", "hostping.policy", dispatch.PolicyConfig{AgainAfter: 30 * time.Hour, PerDay: 2})
	if _, is := q.Again("f", "n1", now); is {
		t.Error("launched before anything was")
	}
	q.Add("f", "n1", now.Add(-25*time.Hour))
	q.Add("f", "n2", now.Add(-dispatch.Day))
	q.Add("g", "n3", now)
	q.Add("f", "n3", now)
	for _, c := range []struct {
		fabric, target string
		after          time.Duration
		is             bool
	}{{"f", "n1", 0, true}, {"f", "n1", 5*time.Hour - 1, true}, {"f", "n1", 5 * time.Hour, false}, {"g", "n1", 0, false}, {"f", "n3", 0, true}} {
		if _, is := q.Again(c.fabric, c.target, now.Add(c.after)); is != c.is {
			t.Errorf("%s of %s again %v later: %v", c.target, c.fabric, c.after, is)
		}
	}
	for _, c := range []struct {
		fabric string
		stored int
		after  time.Duration
		fits   bool
	}{{"f", 0, 0, true}, {"f", 1, 0, true}, {"f", 2, 0, false}, {"f", 0, -1, false}, {"g", 0, 0, true}} {
		err := q.CheckDay(c.fabric, c.stored, now.Add(c.after)) // n2 was launched a day ago
		var refused *dispatch.Refusal
		if (err == nil) != c.fits || err != nil && (!errors.As(err, &refused) || refused.Reason != dispatch.RefusedOften || !strings.Contains(err.Error(), "2 probes were launched within a day, hostping.policy.per_day is 2")) {
			t.Errorf("%s with %d stored: %v", c.fabric, c.stored, err)
		}
	}
	if _, is := q.Again("f", "n1", now); !is {
		t.Error("a launch was forgotten before again_after")
	}
}

func TestRangesOfPolicies(t *testing.T) {
	for _, c := range []struct {
		cfg   dispatch.PolicyConfig
		allow []string
		slurm bool
		fault string // none: valid
	}{
		{dispatch.PolicyConfig{Confidence: 1, AgainAfter: 1, PerDay: 1}, nil, false, ""},
		{dispatch.PolicyConfig{Enabled: true, Confidence: .01, AgainAfter: 1, PerDay: 1}, []string{"gpu-*"}, false, ""},
		{dispatch.PolicyConfig{Enabled: true, Confidence: 1, AgainAfter: 1, PerDay: 1}, nil, true, ""},
		{dispatch.PolicyConfig{Enabled: true, Confidence: 1, AgainAfter: 1, PerDay: 1}, nil, false, "allow_hosts: empty"},
		{dispatch.PolicyConfig{Confidence: 1, AgainAfter: 1, PerDay: 1}, []string{"a", "["}, false, "allow_hosts.1: "},
		{dispatch.PolicyConfig{AgainAfter: 1, PerDay: 1}, nil, false, "policy.confidence: 0"},
		{dispatch.PolicyConfig{Confidence: 1.01, AgainAfter: 1, PerDay: 1}, nil, false, "policy.confidence: 1.01"},
		{dispatch.PolicyConfig{Confidence: 1, PerDay: 1}, nil, false, "policy.again_after: 0s"},
		{dispatch.PolicyConfig{Confidence: 1, AgainAfter: 1}, nil, false, "policy.per_day: 0"},
	} {
		var f faults.List
		c.cfg.Check(&f, c.allow, c.slurm)
		if err := f.Err(); (err == nil) != (c.fault == "") || err != nil && (!strings.HasPrefix(err.Error(), c.fault) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.fault)
		}
	}
}
