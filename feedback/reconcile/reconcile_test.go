package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/feedback/policy"
	"github.com/giverny/giverny/feedback/reconcile"
	"github.com/giverny/giverny/feedback/record/recordtest"
	"github.com/giverny/giverny/internal/test/metric"
	"github.com/giverny/giverny/schema"
)

// fake is a scheduler whose nodes have a weight, as a string; a mark sets it to "marked".
type fake struct {
	t   *testing.T
	dir string // of the journal
	// other is the journal folder of a second analyser; empty: none.
	other string

	mu    sync.Mutex
	nodes map[string]reconcile.State
	fails func() bool // whether the next call, or the next node in a call, fails
	calls int
	// changed lists the changed nodes in order.
	changed []string
	// refuses has the nodes that it does not change, and the number of attempts.
	refuses map[string]int
	// unreadable is a node that cannot be looked at; empty: none.
	unreadable string
	overloaded bool
	looked     int // number of nodes
}

const (
	marked  = reconcile.State("marked")
	covered = reconcile.State("covered") // under the mark of another client
)

var errDown = errors.New("controller down")

func (f *fake) Look(_ context.Context, names []string) (map[string]reconcile.State, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	f.looked += len(names)
	if f.fails() {
		return nil, errDown
	}
	found := map[string]reconcile.State{}
	if f.overloaded {
		return nil, fmt.Errorf("429: %w", reconcile.ErrOverloaded)
	}
	if f.unreadable != "" && slices.Contains(names, f.unreadable) {
		return nil, errors.New("forbidden")
	}
	for _, name := range names {
		if s, ok := f.nodes[name]; ok {
			found[name] = s
		}
	}
	return found, nil
}

func (f *fake) Avoid(now reconcile.State) (reconcile.State, error) {
	if now == "fixed" {
		return "", errors.New("it cannot be marked")
	}
	return marked, nil
}

func (f *fake) Undo(now, before, made reconcile.State) (reconcile.State, reconcile.Standing) {
	switch now {
	case made:
		return before, reconcile.Stands
	case covered:
		return now, reconcile.Covered
	}
	return now, reconcile.Gone
}

func (f *fake) Set(_ context.Context, to map[string]reconcile.State) error {
	journal, err := os.ReadFile(filepath.Join(f.dir, "journal.json"))
	if other, otherErr := os.ReadFile(filepath.Join(f.other, "journal.json")); f.other != "" && otherErr == nil {
		journal, err = append(journal, other...), nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, state := range to {
		if err != nil || !strings.Contains(string(journal), `"`+name+`"`) {
			f.t.Errorf("%s is changed before the journal has it: %s, %v", name, journal, err)
		}
		if f.fails() {
			return errDown
		}
		if _, refused := f.refuses[name]; refused {
			f.refuses[name]++
			continue
		}
		f.nodes[name] = state
		f.changed = append(f.changed, name)
	}
	return nil
}

// changes is the number of changes of a node.
func (f *fake) changes(name string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, changed := range f.changed {
		if changed == name {
			n++
		}
	}
	return n
}

// refused is the number of attempts to change a refused node.
func (f *fake) refused(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refuses[name]
}

func (f *fake) ValidName(name string) error {
	if strings.HasPrefix(name, "-") {
		return errors.New("no name")
	}
	return nil
}

func (f *fake) all() map[string]reconcile.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.nodes)
}

func (f *fake) set(name string, s reconcile.State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes[name] = s
}

func never() bool { return false }

// running is a running reconciler; stop stops it and returns the result of Run.
type running struct {
	*reconcile.Reconciler
	record *recordtest.Recorder
	stop   func() error
	at     int64
}

func start(t *testing.T, f *fake, change func(*reconcile.Config)) *running {
	t.Helper()
	cfg := reconcile.Config{Dir: f.dir, StopTimeout: 10 * time.Second, Policy: policy.DefaultConfig()}
	cfg.Policy.Allow, cfg.Policy.RaiseAfter, cfg.Policy.LowerAfter, cfg.Policy.MaxNodes, cfg.Policy.PerMinute = []string{"*"}, 0, 0, 100, 1000
	if change != nil {
		change(&cfg)
	}
	r := &running{record: recordtest.New(t, "fake", reconcile.Reasons())}
	r.Reconciler = reconcile.New(cfg, f, r.record.Recorder, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	done, written := make(chan error, 1), make(chan struct{})
	recording, end := context.WithCancel(context.Background())
	go func() { done <- r.Run(ctx) }()
	go func() { r.record.Trail.Run(recording); close(written) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		err := <-done
		end()
		<-written
		return err
	})
	return r
}

func (r *running) score(names ...string) {
	r.at += int64(time.Minute)
	s := reconcile.Scores{Fabric: "ib0", AtNanos: time.Now().UnixNano()}
	for _, n := range names {
		s.Nodes = append(s.Nodes, policy.Score{Node: n, Score: 90, Reason: "why", Fabric: "ib0"})
	}
	r.Take(s)
	time.Sleep(3 * time.Second)
	synctest.Wait()
}

func (r *running) audited() string {
	var b strings.Builder
	for _, a := range r.record.Audit.Rows() {
		fmt.Fprintf(&b, "%s %s %s\n", a.Action, a.Target, a.Outcome)
	}
	return b.String()
}

func TestMarkAndRelief(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, dir: t.TempDir(), nodes: map[string]reconcile.State{"n1": "1", "n2": "2", "n3": "fixed"}, fails: never}
		r := start(t, f, nil)
		r.score("n1", "n3", "gone", "-x")
		if got := f.all(); got["n1"] != marked || got["n2"] != "2" || got["n3"] != "fixed" || len(got) != 3 {
			t.Errorf("marked: %v", got)
		}
		f.set("n1", "5") // changed by another party: left as it is
		r.score("n2")
		if got := f.all(); got["n1"] != "5" || got["n2"] != marked {
			t.Errorf("n1 changed by another: %v", got)
		}
		f.set("n2", "2") // the scheduler lost the mark: it is marked again
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := f.all(); got["n2"] != marked {
			t.Errorf("forgotten: %v", got)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		if got := f.all(); got["n1"] != "5" || got["n2"] != "2" {
			t.Errorf("after the stop: %v", got)
		}
		for _, line := range []string{"mark n1 done", "mark n3 refused", "mark gone refused", "mark -x refused", "release n1 done", "reapply n2 done", "relieve n2 done"} {
			if !strings.Contains(r.audited(), line+"\n") {
				t.Errorf("the audit has no %q:\n%s", line, r.audited())
			}
		}
	})
}

// A dry run follows the scores in the audit and the metrics, and changes nothing.
func TestADryRunChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, dir: t.TempDir(), nodes: map[string]reconcile.State{"n1": "1", "n2": "2", "n3": "fixed"}, fails: never}
		r := start(t, f, func(c *reconcile.Config) { c.DryRun = true })
		for _, step := range []struct {
			hot    []string
			marked float64
		}{{[]string{"n1", "n3", "gone"}, 1}, {[]string{"n1", "n2"}, 2}, {nil, 0}, {[]string{"n1"}, 1}} {
			r.score(step.hot...)
			if got := metric.Sum(t, r.record.Registry, "giverny_feedback_marked_nodes"); got != step.marked {
				t.Errorf("%v: %v nodes would be marked, want %v", step.hot, got, step.marked)
			}
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		const want = "mark n1 done\nmark n2 done\nrelieve n1 done\nrelieve n2 done\nmark n1 done\n"
		got := r.audited()
		for _, refused := range []string{"mark n3 refused\n", "mark gone refused\n"} {
			if !strings.Contains(got, refused) {
				t.Errorf("the audit has no %q", refused)
			}
			got = strings.Replace(got, refused, "", 1)
		}
		if got != want || len(f.changed) != 0 {
			t.Errorf("changed %v; the audit:\n%s", f.changed, got)
		}
		for _, a := range r.record.Audit.Rows() {
			if !a.DryRun {
				t.Errorf("%+v is no dry run", a)
			}
		}
	})
}

// A node on several fabrics gets the highest of its scores.
func TestTheHighestScoreOfAllFabricsCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, dir: t.TempDir(), nodes: map[string]reconcile.State{"n1": "1"}, fails: never}
		r := start(t, f, nil)
		for range 20 { // whichever fabric comes first
			for fabric, score := range map[string]float64{"ib0": 90, "ib1": 10} {
				r.Take(reconcile.Scores{Fabric: fabric, AtNanos: time.Now().UnixNano(), Nodes: []policy.Score{{Node: "n1", Score: score, Fabric: fabric}}})
			}
			time.Sleep(3 * time.Second)
		}
		if n := f.changes("n1"); n != 1 || f.all()["n1"] != marked {
			t.Errorf("changed %d times: %v", n, f.all())
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// If the scheduler lost a mark just before its relief, there is nothing to change, and the node is relieved.
func TestReliefOfALostMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, dir: t.TempDir(), nodes: map[string]reconcile.State{"n1": "1"}, fails: never}
		r := start(t, f, nil)
		r.score("n1")
		if got := metric.Sum(t, r.record.Registry, "giverny_feedback_pending"); got != 0 {
			t.Errorf("%v changes pending once it is marked", got)
		}
		f.set("n1", "1")
		r.score()
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		if got := r.audited(); got != "mark n1 done\nrelieve n1 done\n" || f.changes("n1") != 1 {
			t.Errorf("changed %d times; the audit:\n%s", f.changes("n1"), got)
		}
	})
}

// Nodes are relieved if no more scores arrive.
func TestSilenceRelieves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, dir: t.TempDir(), nodes: map[string]reconcile.State{"n1": "1"}, fails: never}
		r := start(t, f, nil)
		r.score("n1")
		time.Sleep(9 * time.Minute)
		if got := f.all(); got["n1"] != marked {
			t.Errorf("after nine minutes: %v", got)
		}
		time.Sleep(2 * time.Minute)
		if got := f.all(); got["n1"] != "1" {
			t.Errorf("after eleven minutes: %v", got)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// A failing scheduler is called with increasing back-off, and its state is reported.
func TestAFailingSchedulerIsLeftInPeace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, dir: t.TempDir(), nodes: map[string]reconcile.State{"n1": "1"}, fails: func() bool { return true }}
		r := start(t, f, nil)
		r.score("n1")
		for range 30 { // a quarter of an hour, with scores
			time.Sleep(27 * time.Second)
			r.score("n1")
		}
		if f.calls > 30 || !strings.Contains(r.record.State(), "controller down") {
			t.Errorf("%d calls in 15 minutes, state %q", f.calls, r.record.State())
		}
		f.mu.Lock()
		f.fails = never
		f.mu.Unlock()
		for range 3 {
			time.Sleep(30 * time.Second)
			r.score("n1")
		}
		if got := f.all(); got["n1"] != marked || r.record.State() != "" {
			t.Errorf("once it is up: %v, state %q", got, r.record.State())
		}
		f.mu.Lock()
		f.fails, f.calls = func() bool { return true }, 0
		f.mu.Unlock()
		r.score()
		if f.calls < 2 { // after a second, since it has worked in between
			t.Errorf("%d calls in the 3 s after it fails again", f.calls)
		}
		f.mu.Lock()
		f.fails = never
		f.mu.Unlock()
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// Whatever fails and whenever the process exits, a final run with a working scheduler
// restores every node.
func TestEverythingIsPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(40) {
			rng, faults := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
			original := map[string]reconcile.State{}
			for i := range 6 {
				original[fmt.Sprintf("n%d", i)] = reconcile.State(fmt.Sprint(i))
			}
			f := &fake{t: t, dir: t.TempDir(), nodes: maps.Clone(original)}
			chance := 0.
			f.fails = func() bool { return faults.Float64() < chance } // f.mu is held
			for range 3 {                                              // process runs
				f.mu.Lock()
				chance = 0.3
				f.mu.Unlock()
				r := start(t, f, func(c *reconcile.Config) { c.StopTimeout = time.Second })
				for range 5 {
					var hot []string
					for name := range original {
						if rng.IntN(2) == 0 {
							hot = append(hot, name)
						}
					}
					r.score(hot...)
				}
				f.mu.Lock()
				chance = float64(rng.IntN(2)) // restoring at the stop always or never fails
				down := chance == 1
				f.mu.Unlock()
				if err := r.stop(); err != nil && !down {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
			f.mu.Lock()
			chance = 0
			f.mu.Unlock()
			last := start(t, f, func(c *reconcile.Config) { c.Idle = true })
			time.Sleep(5 * time.Second)
			if got := f.all(); !maps.Equal(got, original) {
				t.Errorf("seed %d: %v, want %v", seed, got, original)
			}
			if left, err := reconcile.LeftBehind(f.dir); err != nil || len(left) != 0 {
				t.Errorf("seed %d: %v left, %v", seed, left, err)
			}
			if err := last.stop(); err != nil {
				t.Error(err)
			}
		}
	})
}

// A journal that cannot be read is not deleted.
func TestADamagedJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		for _, text := range []string{"", "{", `{"form":9,"nodes":{}}`, `{"form":1,"nodes":{"n1":null}}`} {
			if err := os.WriteFile(filepath.Join(dir, "journal.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			r := start(t, &fake{t: t, dir: dir, fails: never}, nil)
			synctest.Wait()
			if err := r.stop(); err == nil || !strings.Contains(err.Error(), "restore them with giverny feedback lift") || !strings.Contains(r.record.State(), "restore them with giverny feedback lift") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %v, state %q", text, err, r.record.State())
			}
		}
	})
}

// What a person has raised is not restored by a lift, and is no failure; what others changed is released.
func TestLiftLeavesWhatWasRaised(t *testing.T) {
	f := &fake{t: t, fails: never, nodes: map[string]reconcile.State{"a": covered, "b": "7"}}
	var marks []schema.FeedbackAction
	for _, node := range []string{"a", "b", "gone"} {
		marks = append(marks, schema.FeedbackAction{Target: node, Before: "1", After: string(marked)})
	}
	acts, err := reconcile.Lift(t.Context(), f, marks, "by hand")
	got := ""
	for _, a := range acts {
		got += fmt.Sprintf("%s %s %s %.40s\n", a.Target, a.Action, a.Outcome, a.Reason)
	}
	want := `a release refused another client, or a person, has given i
b release done changed by another client meanwhile; lef
gone release done the scheduler no longer has this node
`
	if err != nil || got != want || len(f.changed) > 0 {
		t.Errorf("%v, changed %v:\n%s", err, f.changed, got)
	}
}
