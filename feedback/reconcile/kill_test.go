package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/giverny/giverny/feedback/policy"
	"github.com/giverny/giverny/feedback/reconcile"
	"github.com/giverny/giverny/feedback/record/recordtest"
	"github.com/giverny/giverny/internal/atomicfile"
	"github.com/giverny/giverny/internal/test/await"
)

// Variables of the process that TestKill9RestoresAtEveryStep starts: the folder of its files, and the step at which it dies.
const (
	killFolder = "GIVERNY_TEST_RECONCILE_FOLDER"
	killStep   = "GIVERNY_TEST_RECONCILE_STEP"
)

// lasting is a scheduler that outlives the process: its nodes are a file. step is called before each of its steps.
type lasting struct {
	fake
	file string
	step func()
}

func (l *lasting) Look(ctx context.Context, names []string) (map[string]reconcile.State, error) {
	l.step()
	l.nodes = readNodes(l.t, l.file)
	return l.fake.Look(ctx, names)
}

// Set changes the nodes one by one.
func (l *lasting) Set(_ context.Context, to map[string]reconcile.State) error {
	for _, name := range slices.Sorted(maps.Keys(to)) {
		l.step()
		nodes := readNodes(l.t, l.file)
		nodes[name] = to[name]
		writeNodes(l.t, l.file, nodes)
	}
	return nil
}

func readNodes(t *testing.T, file string) (nodes map[string]reconcile.State) {
	text, err := os.ReadFile(file)
	if err = errors.Join(err, json.Unmarshal(text, &nodes)); err != nil {
		t.Fatal(err)
	}
	return nodes
}

func writeNodes(t *testing.T, file string, nodes map[string]reconcile.State) {
	text, err := json.Marshal(nodes)
	if err = errors.Join(err, atomicfile.Write(file, text)); err != nil {
		t.Fatal(err)
	}
}

// begin starts a reconciler of a lasting scheduler in a folder.
func begin(t *testing.T, folder string, idle bool, step func()) (r *reconcile.Reconciler, nodes, journal string, stop func() error) {
	nodes, journal = filepath.Join(folder, "nodes.json"), filepath.Join(folder, "journal")
	cfg := reconcile.Config{Dir: journal, Idle: idle, StopTimeout: 10 * time.Second, Policy: policy.DefaultConfig()}
	cfg.Policy.Allow, cfg.Policy.RaiseAfter, cfg.Policy.LowerAfter, cfg.Policy.MaxNodes, cfg.Policy.PerMinute = []string{"*"}, 0, 0, 100, 1000
	r = reconcile.New(cfg, &lasting{fake{t: t, fails: never}, nodes, step}, recordtest.New(t, "lasting", reconcile.Reasons()).Recorder, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return r, nodes, journal, func() error { cancel(); return <-done }
}

// await polls until done.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	await.Until(t, what, 10*time.Second, 5*time.Millisecond, done)
}

// TestIsKilledAtAStep is the process: it marks n1 and n2, then relieves n2 and marks n3, then restores all, if it lives.
func TestIsKilledAtAStep(t *testing.T) {
	last, err := strconv.Atoi(os.Getenv(killStep))
	if err != nil {
		return // TestKill9RestoresAtEveryStep starts it
	}
	step := 0
	r, nodes, _, stop := begin(t, os.Getenv(killFolder), false, func() {
		if step++; step == last {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
	for _, hot := range [][]string{{"n1", "n2"}, {"n1", "n3"}} {
		s := reconcile.Scores{Fabric: "ib0", AtNanos: time.Now().UnixNano()}
		for _, n := range hot {
			s.Nodes = append(s.Nodes, policy.Score{Node: n, Score: 90, Reason: "why", Fabric: "ib0"})
		}
		r.Take(s)
		waitFor(t, fmt.Sprint(hot, " are not the marked nodes"), func() bool {
			var all []string
			for node, is := range readNodes(t, nodes) {
				if is == marked {
					all = append(all, node)
				}
			}
			slices.Sort(all)
			return slices.Equal(all, hot)
		})
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// Whenever a process is killed, its journal has every node that it changed, and the next process restores them.
func TestKill9RestoresAtEveryStep(t *testing.T) {
	original := map[string]reconcile.State{"n1": "1", "n2": "2", "n3": "3", "n4": "4"}
	for step := 1; ; step++ {
		folder := t.TempDir()
		writeNodes(t, filepath.Join(folder, "nodes.json"), original)
		process := exec.Command(os.Args[0], "-test.run=^TestIsKilledAtAStep$")
		process.Env = append(os.Environ(), killFolder+"="+folder, killStep+"="+strconv.Itoa(step))
		process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		out, err := process.CombinedOutput()
		killed := !process.ProcessState.Exited()
		if err != nil && !killed {
			t.Fatalf("step %d: %v\n%s", step, err, out)
		}
		changed := readNodes(t, filepath.Join(folder, "nodes.json"))
		left, err := reconcile.LeftBehind(filepath.Join(folder, "journal"))
		for node, is := range changed {
			if is != original[node] && !slices.Contains(left, node) || err != nil {
				t.Errorf("step %d: %s is %q, but the journal has only %v, %v", step, node, is, left, err)
			}
		}
		_, nodes, journal, stop := begin(t, folder, true, func() {})
		waitFor(t, "the journal is not empty", func() bool { left, err := reconcile.LeftBehind(journal); return len(left) == 0 && err == nil })
		if err := stop(); err != nil {
			t.Error(err)
		}
		if got := readNodes(t, nodes); !maps.Equal(got, original) {
			t.Errorf("step %d: after the next process: %v", step, got)
		}
		if !killed {
			if step < 12 {
				t.Errorf("the process has only %d steps", step)
			}
			return
		}
	}
}
