package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/internal/test/metric"
	"github.com/giverny/giverny/schema"
)

// analyserThat creates the parts of an analyser whose Kafka and store are remote and unavailable.
func analyserThat(t *testing.T, launch string) (*Process, *Parts) {
	t.Helper()
	dir := t.TempDir()
	key := filepath.Join(dir, "policy.pem")
	if _, err := command.CreateKey(key); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "giverny.yaml")
	text := fmt.Sprintf("data_dir: %s\nfabrics: [{name: f, topology: 'torus:2x2x2'}]\nkafka: {embedded: false, brokers: ['127.0.0.1:1']}\n"+
		"store: {embedded: false, url: 'http://127.0.0.1:1/giverny'}\ncommand: {sign: {principal: policy, key_file: %s}}\nsearch: {launch: %s}\n", dir, key, launch)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	fabrics, err := LoadFabrics(cfg.Fabrics, log)
	if err != nil {
		t.Fatal(err)
	}
	p := New(cfg, "test", log)
	parts, err := p.Make(Role{Analyse: true}, fabrics)
	if err != nil {
		t.Fatal(err)
	}
	return p, parts
}

// An analyser with the policy enabled runs it as a stage, passes it the diagnoses of its pipelines and counts its
// refusals; here the store is unavailable.
func TestAnalyserRunsTheSearchPolicy(t *testing.T) {
	p, parts := analyserThat(t, "{allow_hosts: ['n*'], policy: {enabled: true, dry_run: false}}")
	defer p.db.Close()
	if len(parts.policies) == 0 {
		t.Fatal("search.launch.policy.enabled makes no policy")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	for _, step := range parts.feedbackSteps() {
		for _, stage := range step {
			if stage.Name == "search policy" {
				go func() { ended <- stage.Run(ctx) }()
			}
		}
	}
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	slow := schema.Diagnosis{Fabric: "f", Region: 5, Cause: schema.Cause{Class: schema.CauseSlowHost, Confidence: .9},
		Root: &schema.Root{Link: schema.NoLink, Device: "leaf0", Port: "1", Peer: "n1 mlx5_0"}}
	sinks := parts.sinks("f", nil)
	for _, s := range sinks {
		if s.Name() == "search policy" {
			if err := s.Put(ctx, &schema.IntervalResult{Diagnoses: []schema.Diagnosis{slow}}); err != nil {
				t.Error(err)
			}
		}
	}
	await.Until(t, fmt.Sprintf("a refusal of reason failed by %d sinks: the store is away", len(sinks)), time.Minute, 5*time.Millisecond, func() bool {
		return metric.Sum(t, p.ops.Registry, "giverny_feedback_refused_total", "search", "failed") == 1
	})
}

// By default no searches are launched, and without a key the process says what to do.
func TestSearchPolicyIsOffByDefault(t *testing.T) {
	p, parts := analyserThat(t, "{allow_hosts: ['n*']}")
	defer p.db.Close()
	if len(parts.policies) > 0 {
		t.Error("a policy that is not switched on is there")
	}
	cfg := p.cfg
	cfg.Search.Launch.Policy.Enabled, cfg.Command.Sign.KeyFile = true, ""
	keyless := New(cfg, "test", p.log)
	_, err := keyless.Make(Role{Analyse: true}, parts.fabrics)
	if err == nil || !strings.Contains(err.Error(), "search.launch.policy: command.sign: no key") {
		t.Errorf("without a key: %v", err)
	}
	keyless.db.Close()
}

// Each launch policy that is enabled is a sink and a stage with its own name; one that is not is none.
func TestLaunchPoliciesThatAreEnabled(t *testing.T) {
	const hostping = "{allow_hosts: ['n*']}}\nhostping: {launch: {allow_hosts: ['n*'], policy: {enabled: true}}"
	const both = "{allow_hosts: ['n*'], policy: {enabled: true}}}\nhostping: {launch: {allow_hosts: ['n*'], policy: {enabled: true}}"
	for launch, want := range map[string][]string{"{allow_hosts: ['n*']}": nil, hostping: {"hostping policy"}, both: {"search policy", "hostping policy"}} {
		p, parts := analyserThat(t, launch)
		var names, stages []string
		for _, made := range parts.policies {
			names = append(names, made.Name())
		}
		for _, stage := range parts.policyStages() {
			stages = append(stages, stage.Name)
		}
		if !slices.Equal(names, want) || !slices.Equal(stages, want) {
			t.Errorf("%s: policies %q with the stages %q, want %q", launch, names, stages, want)
		}
		_ = p.db.Close()
	}
}
