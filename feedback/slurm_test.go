//go:build integration

package feedback_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/giverny/giverny/feedback"
	"github.com/giverny/giverny/feedback/record/recordtest"
	"github.com/giverny/giverny/internal/test/slurm"
	"github.com/giverny/giverny/schema"
)

// The cluster of these tests: hosts of a fat tree (k=4), the first two of them on leaf
// pod 0 edge 0.
var slurmNodes = []string{"host0", "host1", "host2", "host3"}

func slurmConfig(c *slurm.Cluster, dir string) feedback.Config {
	cfg := feedback.DefaultConfig()
	cfg.Dir = dir
	s := &cfg.Slurm
	s.Enabled, s.DryRun, s.Weight, s.Scontrol = true, false, 500, append(c.Prefix(), "scontrol")
	s.Policy.Allow, s.Policy.RaiseAfter, s.Policy.LowerAfter = []string{"host*"}, 0, 0
	return cfg
}

// weights returns the weights printed by scontrol and sinfo; if a change occurred
// between the two, it contains both.
func weights(t *testing.T, c *slurm.Cluster) string {
	t.Helper()
	var out []string
	for _, node := range slurmNodes {
		shown := c.Output("scontrol", "--oneliner", "show", "node", node)
		_, rest, ok := strings.Cut(shown, " Weight=")
		weight, _, _ := strings.Cut(rest, " ")
		listed := strings.TrimSpace(c.Output("sinfo", "--noheader", "--Node", "--nodes="+node, "--format=%w"))
		if !ok || weight != listed {
			weight += " but by sinfo " + listed
		}
		out = append(out, weight)
	}
	return strings.Join(out, " ")
}

func awaitWeights(t *testing.T, c *slurm.Cluster, want string) {
	t.Helper()
	c.Await("weights "+want, func() bool { return weights(t, c) == want })
}

// placed runs a single-node job and returns where Slurm placed it.
func placed(t *testing.T, c *slurm.Cluster) string {
	t.Helper()
	id := c.Submit("true", "--nodes=1")
	node := ""
	c.Await("job "+id+" to end", func() bool {
		for field := range strings.FieldsSeq(c.Output("scontrol", "--oneliner", "show", "job", id)) {
			if value, ok := strings.CutPrefix(field, "NodeList="); ok {
				node = value
			}
		}
		return strings.Contains(c.Output("scontrol", "--oneliner", "show", "job", id), "JobState=COMPLETED")
	})
	return node
}

// A congested region changes the output of scontrol and sinfo and where sbatch places
// the next job; relief reverts it.
func TestSlurmPlacesJobsElsewhere(t *testing.T) {
	c := slurm.Start(t, slurm.Config{Nodes: slurmNodes})
	if got := placed(t, c); got != "host0" {
		t.Fatalf("without congestion the job ran on %s; the test rests on host0", got)
	}
	h := startHub(t, slurmConfig(c, t.TempDir()))
	h.congest(t, schema.High, "host0", "host1")
	awaitWeights(t, c, "500 500 1 1")
	if got := placed(t, c); got != "host2" {
		t.Errorf("the job ran on %s, want host2, the first that is not congested", got)
	}
	c.Output("scontrol", "update", "NodeName=host3", "Weight=3") // set by an operator
	h.congest(t, schema.High, "host3")
	awaitWeights(t, c, "1 1 1 500")
	h.relieve(t)
	awaitWeights(t, c, "1 1 1 3")
	if got := placed(t, c); got != "host0" {
		t.Errorf("after the relief the job ran on %s, want host0", got)
	}
	h.congest(t, schema.High, "host0")
	awaitWeights(t, c, "500 1 1 3")
	h.stop(t)
	if got := weights(t, c); got != "1 1 1 3" {
		t.Errorf("after the stop the nodes weigh %s", got)
	}
	h.wantAudit(t, "mark host0 done", "relieve host0 done", "mark host3 done", "relieve host3 done")
}

// Slurm loses weights when it restarts: a mark is reapplied, and an operator's weight
// is not changed.
func TestSlurmRestartsAndOperatorsInterfere(t *testing.T) {
	c := slurm.Start(t, slurm.Config{Nodes: slurmNodes})
	cfg := slurmConfig(c, t.TempDir())
	h := startHub(t, cfg)
	h.congest(t, schema.High, "host0", "host1")
	awaitWeights(t, c, "500 500 1 1")
	c.Output("scontrol", "update", "NodeName=host1", "Weight=7") // set by an operator
	h.relieve(t)
	awaitWeights(t, c, "1 7 1 1")
	h.wantAudit(t, "release host1 done")
	h.congest(t, schema.High, "host2")
	awaitWeights(t, c, "1 7 500 1")
	c.Output("scontrol", "update", "NodeName=host2", "Weight=2000") // raised by an operator: no relief waits for that to end
	h.relieve(t)
	h.await(t, "the release", func() bool { return strings.Contains(h.audited(), "release host2 done") })
	awaitWeights(t, c, "1 7 2000 1")
	if left := h.state(); left != "" {
		t.Errorf("state after the release: %s", left)
	}
	c.Output("scontrol", "update", "NodeName=host2", "Weight=1")

	c.StopController()
	h.congest(t, schema.High, "host0")
	h.await(t, "the fault to show", func() bool { return h.state() != "" })
	if err := c.StartController(); err != nil {
		t.Fatal(err)
	}
	c.Await("host0 to be marked by the next try", func() bool { return strings.HasPrefix(weights(t, c), "500 ") })
	h.await(t, "the fault to go", func() bool { return h.state() == "" })
}

// Features: a congested node gets one and loses another; the order and features added
// by others are kept.
func TestSlurmFeatures(t *testing.T) {
	c := slurm.Start(t, slurm.Config{Nodes: slurmNodes})
	c.Output("scontrol", "update", "NodeName=host[0-3]", "AvailableFeatures=zeta,calm,alpha", "ActiveFeatures=zeta,calm,alpha")
	features := func(node string) string {
		return strings.TrimSpace(c.Output("sinfo", "--noheader", "--Node", "--nodes="+node, "--format=%f %b"))
	}
	before := features("host0")
	cfg := slurmConfig(c, t.TempDir())
	cfg.Slurm.Weight, cfg.Slurm.Feature, cfg.Slurm.ClearFeature = 0, "congested", "calm"
	h := startHub(t, cfg)
	h.congest(t, schema.High, "host0")
	c.Await("the feature", func() bool {
		_, active, _ := strings.Cut(features("host0"), " ")
		return strings.Contains(active, "congested") && !strings.Contains(active, "calm")
	})
	id := c.Submit("true", "--nodes=1", "--constraint=calm")
	c.Await("job with a constraint to end", func() bool {
		return strings.Contains(c.Output("scontrol", "--oneliner", "show", "job", id), "JobState=COMPLETED")
	})
	if shown := c.Output("scontrol", "--oneliner", "show", "job", id); !strings.Contains(shown, " NodeList=host1 ") {
		t.Errorf("the job that asks for calm ran elsewhere: %s", shown)
	}
	if got := features("host1"); got != before {
		t.Errorf("host1 has %s, it had %s", got, before)
	}
	h.relieve(t)
	c.Await("the features to be back", func() bool { return sameWords(features("host0"), before) })
}

func sameWords(a, b string) bool {
	count := map[string]int{}
	for _, word := range strings.FieldsFunc(a, func(r rune) bool { return r == ',' || r == ' ' }) {
		count[word]++
	}
	for _, word := range strings.FieldsFunc(b, func(r rune) bool { return r == ',' || r == ' ' }) {
		count[word]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// A dry run reports what it would do, and does nothing.
func TestSlurmDryRun(t *testing.T) {
	c := slurm.Start(t, slurm.Config{Nodes: slurmNodes})
	cfg := slurmConfig(c, t.TempDir())
	cfg.Slurm.DryRun = true
	h := startHub(t, cfg)
	h.congest(t, schema.High, "host0")
	h.await(t, "the dry run", func() bool { return strings.Contains(h.audited(), "mark host0 done dry") })
	if got := weights(t, c); got != "1 1 1 1" {
		t.Errorf("a dry run made the nodes weigh %s", got)
	}
	h.relieve(t)
	h.await(t, "the relief", func() bool { return strings.Contains(h.audited(), "relieve host0 done dry") })
}

// crashVariable makes the test binary the process to be killed; before that it prints its audit after markedLine.
const (
	crashVariable = "GIVERNY_TEST_FEEDBACK_CRASH"
	markedLine    = "MARKED "
)

// TestMarksAndIsKilled is that process: it marks nodes, reports it, and waits.
func TestMarksAndIsKilled(t *testing.T) {
	text := os.Getenv(crashVariable)
	if text == "" {
		return // TestSlurmIsRestoredAfterKill9 starts it
	}
	cfg := feedback.DefaultConfig()
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		t.Fatal(err)
	}
	h := startHub(t, cfg)
	h.congest(t, schema.High, "host0", "host1")
	h.await(t, "the marks", func() bool {
		return strings.Contains(h.audited(), "mark host0 done") && strings.Contains(h.audited(), "mark host1 done")
	})
	rows, err := json.Marshal(h.audit.Rows())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(markedLine + string(rows))
	time.Sleep(time.Hour)
}

// After kill -9 during changes of weights, the next start restores them, even if the sink is disabled.
func TestSlurmIsRestoredAfterKill9(t *testing.T) {
	c := slurm.Start(t, slurm.Config{Nodes: slurmNodes})
	c.Output("scontrol", "update", "NodeName=host1", "Weight=4")
	for _, how := range []string{"on", "off", "dry run"} {
		cfg := slurmConfig(c, t.TempDir())
		killAfterMarks(t, cfg)
		if got := weights(t, c); got != "500 500 1 1" {
			t.Fatalf("after the kill the nodes weigh %s", got)
		}
		journal, err := os.ReadFile(filepath.Join(cfg.Dir, "slurm", "journal.json"))
		if err != nil || !strings.Contains(string(journal), "host1") {
			t.Fatalf("journal %s, %v", journal, err)
		}
		cfg.Slurm.Enabled, cfg.Slurm.DryRun = how == "on", how == "dry run"
		h := startHub(t, cfg)
		awaitWeights(t, c, "1 4 1 1")
		h.stop(t)
		if got := weights(t, c); got != "1 4 1 1" {
			t.Errorf("%s: after the stop the nodes weigh %s", how, got)
		}
	}
}

// After kill -9, the next start has another configuration: only weights or only features, another weight, no allowed node.
// What was changed is restored even so.
func TestSlurmIsRestoredUnderAnotherConfiguration(t *testing.T) {
	c := slurm.Start(t, slurm.Config{Nodes: slurmNodes})
	c.Output("scontrol", "update", "NodeName=host[0-3]", "AvailableFeatures=calm", "ActiveFeatures=calm")
	shown := func() string {
		return weights(t, c) + " " + strings.Join(strings.Fields(c.Output("sinfo", "--noheader", "--Node", "--nodes=host0,host1", "--format=%f %b")), " ")
	}
	before := shown()
	for how, change := range map[string]func(*feedback.Config){
		"only weights":    func(cfg *feedback.Config) { cfg.Slurm.Feature, cfg.Slurm.ClearFeature = "", "" },
		"only features":   func(cfg *feedback.Config) { cfg.Slurm.Weight = 0 },
		"another weight":  func(cfg *feedback.Config) { cfg.Slurm.Weight = 700 },
		"no allowed node": func(cfg *feedback.Config) { cfg.Slurm.Policy.Allow = []string{"other*"} },
		"section removed": func(cfg *feedback.Config) {
			command := cfg.Slurm.Scontrol
			cfg.Slurm = feedback.DefaultConfig().Slurm
			cfg.Slurm.Scontrol = command
		},
	} {
		cfg := slurmConfig(c, t.TempDir())
		cfg.Slurm.Feature, cfg.Slurm.ClearFeature = "congested", "calm"
		killAfterMarks(t, cfg)
		if got := shown(); got == before || !strings.Contains(got, "congested") {
			t.Fatalf("%s: after the kill %s", how, got)
		}
		change(&cfg)
		h := startHub(t, cfg)
		h.wantAudit(t, "relieve host0 done", "relieve host1 done")
		if got := shown(); got != before {
			t.Errorf("%s: after the start %s, want %s", how, got, before)
		}
		h.stop(t)
	}
}

// Two processes with journals of their own mark the same nodes, and give them back in either order: no change is left behind.
func TestTwoProcessesOnOneSlurm(t *testing.T) {
	c := slurm.Start(t, slurm.Config{Nodes: slurmNodes})
	for _, feature := range []string{"", "congested"} {
		for first := range 2 {
			var hubs [2]*hub
			for i := range hubs {
				cfg := slurmConfig(c, t.TempDir())
				cfg.Slurm.Feature = feature
				hubs[i] = startHub(t, cfg)
				hubs[i].congest(t, schema.High, "host0")
				awaitWeights(t, c, "500 1 1 1")
			}
			time.Sleep(2 * time.Second) // for the second one to decide
			hubs[first].stop(t)
			hubs[1-first].congest(t, schema.High, "host0", "host1")
			c.Await("the other to mark host1", func() bool { return strings.Contains(weights(t, c), " 500 ") })
			hubs[1-first].stop(t)
			if got := weights(t, c); got != "1 1 1 1" {
				t.Errorf("feature %q, process %d first: %s", feature, first, got)
			}
			if got := c.Output("scontrol", "--oneliner", "show", "node", "host0"); strings.Contains(got, "congested") {
				t.Errorf("process %d first: the feature is left: %s", first, got)
			}
		}
	}
}

// The host of an analyser is lost with its journal: another process restores its nodes from the audit, without reverting an
// operator's later changes.
func TestSlurmMarksOfALostHostAreLifted(t *testing.T) {
	c := slurm.Start(t, slurm.Config{Nodes: slurmNodes})
	c.Output("scontrol", "update", "NodeName=host0", "Weight=4")
	marks := killAfterMarks(t, slurmConfig(c, t.TempDir()))
	c.Output("scontrol", "update", "NodeName=host1", "Weight=7") // set by an operator
	if got := weights(t, c); got != "500 7 1 1" {
		t.Fatalf("after the kill the nodes weigh %s", got)
	}
	cfg, trail := slurmConfig(c, t.TempDir()), &recordtest.Audit{}
	for _, want := range []string{"relieve host0 done by hand, release host1 done changed by another client meanwhile; left unchanged",
		"relieve host0 done by hand, release host1 done changed by another client meanwhile; left unchanged"} { // the second time nothing is left to do
		acts, err := feedback.Lift(t.Context(), &cfg, marks, "by hand", trail, slog.New(slog.DiscardHandler))
		var got []string
		for _, a := range acts {
			got = append(got, fmt.Sprint(a.Action, " ", a.Target, " ", a.Outcome, " ", a.Reason))
		}
		if err != nil || strings.Join(got, ", ") != want || weights(t, c) != "4 7 1 1" {
			t.Errorf("lifted %q, %v; the nodes weigh %s", got, err, weights(t, c))
		}
	}
	if n := len(trail.Rows()); n != 4 {
		t.Errorf("%d rows of the audit, want 4", n)
	}
}

func killAfterMarks(t *testing.T, cfg feedback.Config) (marks []schema.FeedbackAction) {
	t.Helper()
	text, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestMarksAndIsKilled$", "-test.v")
	cmd.Env = append(os.Environ(), crashVariable+"="+string(text))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Fprintln(&said, lines.Text())
		if rows, ok := strings.CutPrefix(lines.Text(), markedLine); ok {
			cmd.Process.Kill()
			cmd.Wait()
			if err := json.Unmarshal([]byte(rows), &marks); err != nil {
				t.Fatal(err)
			}
			return marks
		}
	}
	t.Fatalf("the process that was to be killed ended: %v\n%s", cmd.Wait(), said.String())
	return nil
}

// Names that would be options, other arguments or other nodes never reach scontrol;
// only valid node names do.
func TestSlurmNamesAreNoArguments(t *testing.T) {
	c := slurm.Start(t, slurm.Config{Nodes: slurmNodes})
	cfg := slurmConfig(c, t.TempDir())
	log := filepath.Join(t.TempDir(), "arguments")
	spy := filepath.Join(t.TempDir(), "spy")
	script := "#!/bin/sh\nfor a in \"$@\"; do printf '%s\\n' \"$a\" >>" + log + "; done\nprintf -- '--\\n' >>" + log + "\nexec \"$@\"\n"
	if err := os.WriteFile(spy, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	cfg.Slurm.Scontrol = append([]string{spy}, cfg.Slurm.Scontrol...)
	cfg.Slurm.Policy.Allow = []string{"*"}
	// Host lists do not count: the map expands them.
	evil := []string{"-host2", "--all", "host2 State=DOWN", "host2\nState=DOWN", "host2 Reason=x", "Weight=0", "ALL ", "$(touch x)", "host2;reboot"}
	cfg.Slurm.NodeMap = filepath.Join(t.TempDir(), "nodes.tsv")
	var lines strings.Builder
	for i, name := range evil {
		if !strings.Contains(name, "\n") {
			fmt.Fprintf(&lines, "%s\thost%d\n", name, i+2)
		}
	}
	if err := os.WriteFile(cfg.Slurm.NodeMap, []byte(lines.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	h := startHub(t, cfg)
	h.congest(t, schema.High, hostNames(16)...)
	awaitWeights(t, c, "500 500 1 1")
	h.await(t, "the refusals", func() bool { return strings.Count(h.audited(), "refused") >= len(evil)-1 })
	seen, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range evil {
		for argument := range strings.SplitSeq(string(seen), "\n") {
			if strings.Contains(argument, name) && !strings.HasPrefix(argument, "--oneliner") {
				t.Errorf("argument %q holds the name %q", argument, name)
			}
		}
	}
	if states := c.Output("sinfo", "--noheader", "--Node", "--format=%T"); strings.Contains(states, "down") {
		t.Errorf("a node is down: %s", states)
	}
}

func hostNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("host%d", i))
	}
	return names
}

func (h *hub) stop(t *testing.T) {
	t.Helper()
	if err := h.end(); err != nil {
		t.Error(err)
	}
}
