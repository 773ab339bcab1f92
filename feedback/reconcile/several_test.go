package reconcile_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/feedback/policy"
	"github.com/giverny/giverny/feedback/reconcile"
	"github.com/giverny/giverny/internal/test/metric"
)

// Several analysers share one scheduler, each with its own fabrics, and a node may be on several fabrics: each
// restores only its own changes, a node stays marked while any of them requires it, and they do not flip it back
// and forth.
func TestAnalysersOfSeveralFabricsDoNotFight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		f := &fake{t: t, dir: filepath.Join(dir, "a"), other: filepath.Join(dir, "b"), fails: never,
			nodes: map[string]reconcile.State{"n1": "1", "both": "2", "n3": "3"}}
		a := start(t, f, nil)
		b := start(t, f, func(c *reconcile.Config) { c.Dir = f.other })
		want := func(n1, both, n3 reconcile.State) {
			t.Helper()
			synctest.Wait()
			if got := f.all(); got["n1"] != n1 || got["both"] != both || got["n3"] != n3 {
				t.Fatalf("%v, want %s %s %s; a:\n%sb:\n%s", got, n1, both, n3, a.audited(), b.audited())
			}
		}
		// say sends each its scores, the same in every interval for some minutes.
		say := func(minutes int, ofA, ofB []string) {
			for range minutes * 6 {
				a.take("ib0", false, ofA...)
				b.take("ib1", false, ofB...)
				time.Sleep(10 * time.Second)
			}
		}
		say(5, []string{"n1", "both"}, []string{"both", "n3"})
		want(marked, marked, marked)
		say(5, nil, []string{"both", "n3"}) // relief on one fabric is not relief on the other
		want("1", marked, marked)
		say(5, []string{"both"}, nil) // the other analyser's fabric is congested again
		want("1", marked, "3")
		say(5, nil, nil)
		want("1", "2", "3")
		if n := f.changes("both"); n > 2*4 { // at most one change by each analyser per change of the scores
			t.Errorf("the node that both have was changed %d times", n)
		}
		// One stops; the marks of the other stay.
		say(5, []string{"n1"}, []string{"n3"})
		if err := a.stop(); err != nil {
			t.Fatal(err)
		}
		want("1", "2", marked)
		if err := b.stop(); err != nil {
			t.Fatal(err)
		}
		want("1", "2", "3")
	})
}

// Of many marked nodes only those that change are read at a change, and all once a minute: the scheduler has to
// answer for each.
func TestManyNodesAreReadOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perMinute, minutes = 60, 10
		f := &fake{t: t, dir: t.TempDir(), fails: never, nodes: map[string]reconcile.State{}}
		var names []string
		for i := range perMinute * minutes {
			names = append(names, fmt.Sprint("n", i))
			f.nodes[names[i]] = "0"
		}
		r := start(t, f, func(c *reconcile.Config) { c.Policy.MaxNodes, c.Policy.PerMinute = len(names), perMinute })
		verified := 0 // nodes that are marked, summed over the minutes
		for minute := range minutes {
			for range 4 { // a few are marked at every interval
				r.take("ib0", false, names...)
				time.Sleep(15 * time.Second)
			}
			verified += perMinute * (minute + 1)
		}
		synctest.Wait()
		f.mu.Lock()
		marks, looked := len(f.changed), f.looked
		f.mu.Unlock()
		if most := verified + 4*marks; marks < perMinute*(minutes-2) || looked > most {
			t.Errorf("%d nodes marked, %d read, want at most %d", marks, looked, most)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// take gives the reconciler the scores of a fabric on which some nodes are congested, or whose state is unknown.
func (r *running) take(fabric string, unknown bool, nodes ...string) {
	s := reconcile.Scores{Fabric: fabric, AtNanos: time.Now().UnixNano(), Unknown: unknown}
	for _, n := range nodes {
		s.Nodes = append(s.Nodes, policy.Score{Node: n, Score: 90, Reason: "why", Fabric: fabric})
	}
	r.Take(s)
}

// A fabric that another process owns now is as if it were calm, one that sends no scores any more likewise after
// RelieveUnknownAfter; without any known fabric, all marks are relieved after that time.
func TestFabricsThatAreNoLongerHeard(t *testing.T) {
	for name, c := range map[string]struct {
		minute         func(r *running) // what is heard every minute
		after1, after9 string           // states of n1 (ib0) and n2 (ib1)
		after12        string
		reason         string // of the last relief; empty: none
	}{
		"all as before": {func(r *running) { r.take("ib0", false, "n1"); r.take("ib1", false, "n2") }, "marked marked", "marked marked", "marked marked", ""},
		"one is owned by another": {func(r *running) { r.Forget("ib0"); r.take("ib1", false, "n2") }, "1 marked", "1 marked", "1 marked",
			"no congestion nearby"},
		"one sends nothing": {func(r *running) { r.take("ib1", false, "n2") }, "marked marked", "marked marked", "1 marked", "no congestion nearby"},
		"both are owned by others": {func(r *running) { r.Forget("ib0"); r.Forget("ib1") }, "marked marked", "marked marked", "1 2",
			"the state of the network has been unknown for too long"},
		"both are unknown": {func(r *running) { r.take("ib0", true); r.take("ib1", true) }, "marked marked", "marked marked", "1 2",
			"the state of the network has been unknown for too long"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{t: t, dir: t.TempDir(), fails: never, nodes: map[string]reconcile.State{"n1": "1", "n2": "2"}}
			r := start(t, f, nil)
			defer r.stop()
			r.take("ib0", false, "n1")
			r.take("ib1", false, "n2")
			time.Sleep(3 * time.Second)
			synctest.Wait()
			for minute := 1; minute <= 12; minute++ {
				c.minute(r)
				time.Sleep(time.Minute)
				synctest.Wait()
				want, checked := map[int]string{1: c.after1, 9: c.after9, 12: c.after12}[minute]
				if got := string(f.all()["n1"] + " " + f.all()["n2"]); checked && got != want {
					t.Errorf("%s: after %d minutes %q, want %q", name, minute, got, want)
				}
			}
			reason := ""
			for _, a := range r.record.Audit.Rows() {
				if a.Action == reconcile.ActionRelieve {
					reason = a.Reason
				}
			}
			if reason != c.reason {
				t.Errorf("%s: relieved because %q, want %q", name, reason, c.reason)
			}
		})
	}
}

// Two processes with one journal would undo each other's marks with outdated states: the second does not run.
func TestAJournalHasOneProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, dir: t.TempDir(), fails: never, nodes: map[string]reconcile.State{"n1": "1"}}
		r := start(t, f, nil)
		r.score("n1")
		if err := start(t, f, nil).stop(); err == nil || !strings.Contains(err.Error(), "feedback journal") {
			t.Errorf("a second process: %v", err)
		}
		if got := f.all()["n1"]; got != marked {
			t.Errorf("the second process changed the mark of the first: %v", got)
		}
		if err := r.stop(); err != nil || f.all()["n1"] != "1" {
			t.Errorf("%v, %v", err, f.all())
		}
		if err := start(t, f, nil).stop(); err != nil {
			t.Errorf("a process after them: %v", err)
		}
	})
}

// The marks of a fabric whose state becomes unknown stay, whatever the other fabrics say, until it has been unknown for
// RelieveUnknownAfter.
func TestOneFabricOfSeveralIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, dir: t.TempDir(), fails: never, nodes: map[string]reconcile.State{"n1": "1", "n2": "2", "n3": "3"}}
		r := start(t, f, nil)
		defer r.stop()
		say := func(minutes int, unknown bool, ofA, ofB []string) {
			t.Helper()
			for range minutes * 6 {
				r.take("ib0", unknown, ofA...)
				r.take("ib1", false, ofB...)
				time.Sleep(10 * time.Second)
			}
			synctest.Wait()
		}
		want := func(when string, n1, n2, n3 reconcile.State) {
			t.Helper()
			if got := f.all(); got["n1"] != n1 || got["n2"] != n2 || got["n3"] != n3 {
				t.Errorf("%s: %v, want %s %s %s:\n%s", when, got, n1, n2, n3, r.audited())
			}
		}
		say(2, false, []string{"n1"}, []string{"n2"})
		want("both known", marked, marked, "3")
		say(8, true, []string{"n3"}, nil)
		want("ib0 unknown for eight minutes", marked, "2", "3")
		say(4, true, nil, nil)
		want("for twelve", "1", "2", "3")
		say(2, false, []string{"n1"}, nil)
		want("known again", marked, "2", "3")
	})
}

// A process with a stronger mark covers the mark of this one: this one neither takes that for an operator's change nor forgets
// the node, or else it would keep this mark forever once the stronger one is undone.
func TestAMarkUnderAStrongerOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, dir: t.TempDir(), fails: never, nodes: map[string]reconcile.State{"n1": "1", "n2": "2"}}
		r := start(t, f, nil)
		r.score("n1", "n2")
		f.set("n1", covered)
		f.set("n2", covered)
		for range 40 { // long enough for the next verification
			r.score("n1", "n2")
		}
		f.set("n2", marked) // the stronger mark ends first
		for range 40 {
			r.score()
		}
		if got := f.all(); got["n1"] != covered || got["n2"] != "2" {
			t.Errorf("after the relief: %v", got)
		}
		released := strings.Count(r.audited(), "release n1 done")
		held, pending := metric.Sum(t, r.record.Registry, "giverny_feedback_marked_nodes"), metric.Sum(t, r.record.Registry, "giverny_feedback_pending")
		if released != 1 || held != 0 || pending != 0 {
			t.Errorf("%d releases, %v marked, %v pending; the higher value stays, so the mark must end, once:\n%s", released, held, pending, r.audited())
		}
		f.set("n1", marked)
		for range 40 {
			r.score()
		}
		if got := f.all(); got["n1"] != "1" {
			t.Errorf("after the end of the stronger mark: %v, audit\n%s", got, r.audited())
		}
		r.score("n1")
		f.set("n1", covered)
		if err := r.stop(); err != nil {
			t.Errorf("a stop below a stronger mark: %v", err)
		}
		r = start(t, f, nil) // an operator's value may stay for many runs
		time.Sleep(2 * time.Minute)
		if err := r.stop(); err != nil || f.all()["n1"] != covered || r.audited() != "" {
			t.Errorf("a run that only watches: %v, %v, audit\n%s", err, f.all(), r.audited())
		}
		f.set("n1", marked)
		r = start(t, f, nil)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := f.all(); got["n1"] != "1" {
			t.Errorf("after the next start: %v", got)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// The marks of nodes near a region whose readings stop stay for RelieveUnknownAfter, though the state of the fabric is known
// by other regions; nodes whose region is measured as gone are relieved.
func TestARegionWithoutReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, dir: t.TempDir(), fails: never, nodes: map[string]reconcile.State{"n1": "1", "n2": "2", "n3": "3"}}
		r := start(t, f, nil)
		defer r.stop()
		say := func(minutes int, held []reconcile.Held, nodes ...string) {
			t.Helper()
			for range minutes * 6 {
				s := reconcile.Scores{Fabric: "ib0", AtNanos: time.Now().UnixNano(), Held: held}
				for _, n := range nodes {
					s.Nodes = append(s.Nodes, policy.Score{Node: n, Score: 90, Reason: "why", Fabric: "ib0"})
				}
				r.Take(s)
				time.Sleep(10 * time.Second)
			}
			synctest.Wait()
		}
		want := func(when string, n1, n2, n3 reconcile.State) {
			t.Helper()
			if got := f.all(); got["n1"] != n1 || got["n2"] != n2 || got["n3"] != n3 {
				t.Errorf("%s: %v, want %s %s %s:\n%s", when, got, n1, n2, n3, r.audited())
			}
		}
		say(2, nil, "n1", "n2")
		want("measured", marked, marked, "3")
		silent := []reconcile.Held{{Node: "n1", SinceNanos: time.Now().UnixNano()}}
		say(8, silent, "n3")
		want("without readings for eight minutes", marked, "2", marked)
		say(8, silent, "n3")
		want("for sixteen", "1", "2", marked)
	})
}
