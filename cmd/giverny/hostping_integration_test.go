//go:build integration

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/prober/probertest"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// A region of a slow host causes probes inside that host, and the result is added to its diagnosis, over a real Kafka:
// a baseline is taken on a healthy host; then its memory channel fails; a dry run sends nothing; the launched run names
// the channel; the fleet, the host's graph and the diagnosis show it.
func TestHostpingOnDemandOverApacheKafka(t *testing.T) {
	s := newSite(t)
	graph, fault := filepath.Join(s.dir, "host.xml"), filepath.Join(s.dir, "fault")
	writeText(t, graph, probertest.Machine("2x4-rails"))
	s.start("n1", "[{principals: [operator], kinds: [hostping], run_time: 5m}]", fmt.Sprintf(
		"hostping: {host: {prober: exec, command: [%s, %s, %s], graph: %s, share_percent: 100}, offer: {enabled: true}}\n", filepath.Join(s.dir, testHost), graph, fault, graph))
	s.run("analyze", "-c", s.config("analyser", fmt.Sprintf("command: {principals: [{name: operator, keys: [%s]}]}\n", s.public)))
	s.serve()
	s.slowHost(4711)

	s.operate(func(out string, err error) bool {
		return err == nil && strings.Contains(out, "n1 would refuse it: refused") && strings.Contains(out, "no baseline of model")
	}, "hostping", "launch", "--region", "4711", "--dry-run")
	s.operate(func(_ string, err error) bool {
		return err != nil && strings.Contains(err.Error(), "none of the 1 agents that answered")
	}, "hostping", "launch", "--host", "n2")
	s.operate(well, "hostping", "launch", "--host", "n1", "--baseline")
	model := s.baseline(strings.TrimSpace(probertest.Machine("2x4-rails")))
	writeText(t, fault, "memory_channel_failure memory:numa1 0.5")

	dry := s.operate(func(out string, err error) bool { return err == nil && strings.Contains(out, "n1 would accept it") }, "hostping", "launch", "--region", "4711", "--dry-run")
	for _, want := range []string{"root    n1 mlx5_0: mlx5_0 of agent n1", "probed  n1, mlx5_0 to its own endpoints (allowed)", `"kind": "hostping"`, `"region": "4711"`} {
		if !strings.Contains(dry, want) {
			t.Errorf("the dry run lacks %q:\n%s", want, dry)
		}
	}
	var launched hostLaunched
	if err := json.Unmarshal([]byte(s.operate(well, "hostping", "launch", "--region", "4711", "--full", "--json")), &launched); err != nil || launched.Status != schema.CommandAccepted {
		t.Fatalf("%+v, %v", launched, err)
	}
	run := s.probed(launched.Command.ID)
	const accused = "n1: memory channel of numa1 at "
	if run.Region != 4711 || run.Principal != "operator" || run.Model != model || len(run.Verdicts) != 1 || run.Verdicts[0].Bottleneck != hostping.MemoryChannelFailure ||
		!strings.HasPrefix(run.Sentence, accused) || !strings.Contains(run.Sentence, "cleared: its PCIe links") {
		t.Errorf("run %+v", run)
	}
	s.joined(run, accused)
	s.operate(func(out string, err error) bool { return err == nil && strings.Contains(out, accused) }, "hostping", "fleet")
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// baseline waits until the store has a baseline, writes it to a file with the command, and returns its model.
func (s *site) baseline(description string) string {
	s.t.Helper()
	g, err := hostping.ReadGraph("host.xml", []byte(description), hostping.Auto)
	if err != nil {
		s.t.Fatal(err)
	}
	s.operate(func(out string, err error) bool { return err == nil && strings.Contains(out, g.Model) }, "hostping", "fleet", "--baselines")
	out := filepath.Join(s.dir, "baseline.json")
	s.operate(well, "hostping", "fleet", "--baselines", "--model", g.Model, "--out", out)
	text, err := os.ReadFile(out)
	if err != nil {
		s.t.Fatal(err)
	}
	b, err := hostping.ParseBaseline(text)
	if err != nil || b.Fits(&g) != nil || len(b.Pairs) != len(g.Paths) {
		s.t.Errorf("baseline of %d pairs, want %d: %v", len(b.Pairs), len(g.Paths), err)
	}
	return g.Model
}

// probed waits until the API has the report of a run.
func (s *site) probed(id string) read.HostRun {
	s.t.Helper()
	var list struct{ Runs []read.HostRun }
	at := -1
	if !await.Holds(time.Minute, 100*time.Millisecond, func() bool {
		list.Runs = nil
		s.get("hosts/n1/runs", &list)
		at = slices.IndexFunc(list.Runs, func(r read.HostRun) bool { return r.RunID == id && r.Status.Final() })
		return at >= 0
	}) {
		s.t.Fatalf("run %s has no end: %+v", id, list.Runs)
	}
	return list.Runs[at]
}

// joined checks that a run is in the diagnosis of its region, with its evidence.
func (s *site) joined(run read.HostRun, accused string) {
	s.t.Helper()
	var region struct {
		Diagnoses []struct {
			ProbedHost struct {
				RunID string `json:"run_id"`
				Text  string `json:"text"`
			} `json:"probed_host"`
		}
	}
	s.get("diagnoses?region=4711", &region)
	if len(region.Diagnoses) != 1 || region.Diagnoses[0].ProbedHost.RunID != run.RunID || !strings.HasPrefix(region.Diagnoses[0].ProbedHost.Text, accused) {
		s.t.Errorf("diagnosis %+v", region)
	}
	var report struct {
		Report hostping.Report
		Graph  hostping.Graph
	}
	s.get("hosts/n1?run="+run.RunID, &report)
	if len(report.Report.Matrix) != len(report.Graph.Paths) || len(report.Report.Verdicts[0].Evidence.Abnormal) == 0 {
		s.t.Errorf("report %+v", report)
	}
}
