package reconcile_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/feedback/reconcile"
	"github.com/giverny/giverny/internal/test/metric"
)

// A node that the scheduler always refuses is retried with increasing back-off, shows in the state, and does not delay
// the mark or the relief of other nodes.
func TestARefusedNodeDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, dir: t.TempDir(), fails: never, nodes: map[string]reconcile.State{"bad": "0", "n1": "1", "n2": "2"}, refuses: map[string]int{"bad": 0}}
		r := start(t, f, nil)
		for range 20 { // ten minutes
			r.score("bad")
			time.Sleep(27 * time.Second)
		}
		if n := f.refused("bad"); n < 3 || n > 20 {
			t.Errorf("tried %d times in ten minutes", n)
		}
		if state := r.record.State(); !strings.Contains(state, "1 of 1 nodes") {
			t.Errorf("state %q", state)
		}
		if n := strings.Count(r.audited(), "mark bad failed\n"); n != f.refused("bad") {
			t.Errorf("%d attempts in the audit, want all %d", n, f.refused("bad"))
		}
		r.score("bad", "n1") // back-off of 3 s
		r.score("bad", "n1", "n2")
		if got := f.all(); got["n1"] != marked || got["n2"] != marked {
			t.Errorf("marked beside the refused node: %v", got)
		}
		r.score("bad", "n2")
		if got := f.all(); got["n1"] != "1" || got["n2"] != marked {
			t.Errorf("relieved beside the refused node: %v", got)
		}
		f.mu.Lock()
		delete(f.refuses, "bad")
		f.mu.Unlock()
		for range 4 {
			time.Sleep(27 * time.Second)
			r.score("bad", "n2")
		}
		if got := f.all(); got["bad"] != marked || r.record.State() != "" {
			t.Errorf("two minutes after it is no longer refused: %v, state %q", got, r.record.State())
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		if got := f.all(); got["bad"] != "0" || got["n1"] != "1" || got["n2"] != "2" {
			t.Errorf("after the stop: %v", got)
		}
	})
}

// A scheduler that asks for a pause is asked once per back-off, not once for each node, and has every mark afterwards.
func TestAnOverloadedSchedulerIsNotAskedNodeByNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, dir: t.TempDir(), fails: never, overloaded: true, nodes: map[string]reconcile.State{"n1": "1", "n2": "2", "n3": "3", "n4": "4"}}
		r := start(t, f, nil)
		for range 10 { // some five minutes
			r.score("n1", "n2", "n3", "n4")
			time.Sleep(27 * time.Second)
		}
		f.mu.Lock()
		if f.calls > 25 {
			t.Errorf("asked %d times in five minutes", f.calls)
		}
		f.overloaded = false
		f.mu.Unlock()
		for range 4 {
			r.score("n1", "n2", "n3", "n4")
			time.Sleep(27 * time.Second)
		}
		for node, is := range f.all() {
			if is != marked {
				t.Errorf("%s is %s", node, is)
			}
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// The relief of a node whose mark is refused does not wait for the back-off, and the stop tries all nodes.
func TestReliefDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, dir: t.TempDir(), fails: never, nodes: map[string]reconcile.State{"bad": "0", "n1": "1"}, refuses: map[string]int{"bad": 0}}
		r := start(t, f, nil)
		for range 10 {
			r.score("bad", "n1")
			time.Sleep(27 * time.Second)
		}
		r.score("n1")
		if state := r.record.State(); state != "" || !strings.Contains(r.audited(), "bad done") {
			t.Errorf("state %q after the relief of a node that was not marked; the audit:\n%s", state, r.audited())
		}
		f.mu.Lock()
		f.refuses["n1"] = 0
		f.mu.Unlock()
		began := time.Now()
		if err := r.stop(); err == nil || !strings.Contains(err.Error(), "1 nodes stay marked") || time.Since(began) > time.Minute {
			t.Errorf("stopped after %v: %v", time.Since(began), err)
		}
		if n := f.refused("n1"); n < 5 {
			t.Errorf("tried %d times in the 10 s of the stop", n)
		}
	})
}

// A node that alone cannot be read, such as for lack of permission, delays neither marks nor reliefs of others, and is relieved
// once it can be read. It shows in the state, or in the audit.
func TestANodeThatCannotBeReadDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, dir: t.TempDir(), fails: never, nodes: map[string]reconcile.State{"bad": "0", "n1": "1", "n2": "2"}, unreadable: "bad"}
		r := start(t, f, nil)
		want := func(state string, nodes map[string]reconcile.State) {
			t.Helper()
			if got := f.all(); !maps.Equal(got, nodes) || (state == "") != (r.record.State() == "") || !strings.Contains(r.record.State(), state) {
				t.Errorf("%v, state %q; want %v, state %q", got, r.record.State(), nodes, state)
			}
		}
		r.score("n1")
		r.score("bad")
		want("", map[string]reconcile.State{"bad": "0", "n1": "1", "n2": "2"})
		for range 3 {
			time.Sleep(time.Minute)
			r.score("bad")
		}
		want("forbidden", map[string]reconcile.State{"bad": "0", "n1": "1", "n2": "2"}) // no other node shows that the scheduler works
		for range 3 {
			r.score("bad", "n1", "n2")
			time.Sleep(time.Minute)
		}
		want("", map[string]reconcile.State{"bad": "0", "n1": marked, "n2": marked})
		if n := strings.Count(r.audited(), "mark bad refused"); n != 1 {
			t.Errorf("refused %d times:\n%s", n, r.audited())
		}
		f.mu.Lock()
		f.unreadable = "n1"
		f.mu.Unlock()
		r.score("bad")
		want("forbidden", map[string]reconcile.State{"bad": "0", "n1": marked, "n2": "2"})
		f.mu.Lock()
		f.unreadable = ""
		f.mu.Unlock()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		want("", map[string]reconcile.State{"bad": marked, "n1": "1", "n2": "2"})
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// A fault does not outlast what failed, such as the mark of a node that is calm before the scheduler answers again.
func TestAFaultEndsWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, dir: t.TempDir(), fails: func() bool { return true }, nodes: map[string]reconcile.State{"n1": "1"}}
		r := start(t, f, nil)
		r.score("n1")
		if state := r.record.State(); !strings.Contains(state, "controller down") {
			t.Errorf("state %q", state)
		}
		time.Sleep(2 * time.Minute)
		r.score()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if state := r.record.State(); state != "" || metric.Sum(t, r.record.Registry, "giverny_feedback_up") != 1 || metric.Sum(t, r.record.Registry, "giverny_feedback_last_success_timestamp_seconds") != 0 {
			t.Errorf("with nothing to do: state %q", state)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// A relief that waits for the rate limit is in the audit as such, once, with the fabric because of which the node was marked.
func TestReliefsThatWait(t *testing.T) {
	for _, dry := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{t: t, dir: t.TempDir(), fails: never, nodes: map[string]reconcile.State{"n1": "1", "n2": "2", "n3": "3"}}
			r := start(t, f, func(c *reconcile.Config) {
				c.DryRun, c.Policy.PerMinute, c.Policy.RelieveUnknownAfter = dry, 2, 2*time.Minute
			})
			r.score("n1", "n2")
			time.Sleep(time.Minute)
			r.score("n1", "n2", "n3")
			time.Sleep(time.Minute)
			for range 4 {
				r.score()
			}
			time.Sleep(time.Minute)
			r.score("n1")
			time.Sleep(5 * time.Minute) // unknown: relieved
			if err := r.stop(); err != nil {
				t.Error(err)
			}
			if got := r.audited(); strings.Count(got, "refused") != 1 || !strings.Contains(got, "relieve n3 refused\n") {
				t.Errorf("dry run %v: the audit:\n%s", dry, got)
			}
			for _, a := range r.record.Audit.Rows() {
				if a.Fabric != "ib0" {
					t.Errorf("dry run %v: without its fabric: %+v", dry, a)
				}
			}
		})
	}
}

// Nodes that cannot be marked, because a second analyser has marked them or the scheduler does not have them, are reported
// once, and use up neither max_nodes nor the rate limit.
func TestUnmarkableNodesTakeNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, dir: t.TempDir(), fails: never, nodes: map[string]reconcile.State{"a1": "fixed", "n1": "1", "n2": "2"}}
		r := start(t, f, func(c *reconcile.Config) { c.Policy.MaxNodes, c.Policy.PerMinute = 2, 4 })
		for range 10 { // a minute and a half
			r.score("a1", "a2", "-x", "n1", "n2") // with equal scores: the first by name come first
			time.Sleep(6 * time.Second)
		}
		if got := f.all(); got["n1"] != marked || got["n2"] != marked {
			t.Errorf("marked beside nodes that cannot be: %v", got)
		}
		r.score("a1", "a2", "-x")
		if got := f.all(); got["n1"] != "1" || got["n2"] != "2" {
			t.Errorf("relieved beside nodes that cannot be marked: %v", got)
		}
		f.set("a1", "1")
		time.Sleep(time.Minute)
		r.score("a1", "a2", "-x")
		if got := f.all(); got["a1"] != marked {
			t.Errorf("a minute after it can be marked: %v", got)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		told := map[string]int{}
		for _, a := range r.record.Audit.Rows() {
			reason, _, _ := strings.Cut(a.Reason, ":")
			told[a.Target+" "+reason]++
		}
		for _, refusal := range []string{"a1 " + reconcile.NotMarkable, "a2 " + reconcile.UnknownNode, "-x " + reconcile.BadName} {
			if told[refusal] != 1 {
				t.Errorf("the audit has %q %d times: %v", refusal, told[refusal], told)
			}
		}
	})
}

// While the journal cannot be written nothing is marked, but marked nodes are still relieved. Once it can be written,
// waiting changes are made.
func TestAJournalThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir() + "/journal"
		f := &fake{t: t, dir: dir, other: dir + ".away", fails: never, nodes: map[string]reconcile.State{"n1": "1", "n2": "2"}}
		r := start(t, f, nil)
		r.score("n1")
		move := func(from, to string) {
			if err := os.Rename(from, to); err != nil {
				t.Fatal(err)
			}
		}
		move(f.dir, f.other) // not writable even for root
		r.score("n2")
		if got := f.all(); got["n1"] != "1" || got["n2"] != "2" || !strings.Contains(r.record.State(), "feedback journal") {
			t.Errorf("with a full disk: %v, state %q", got, r.record.State())
		}
		time.Sleep(20 * time.Second)
		r.score("n2")
		if state := r.record.State(); !strings.HasPrefix(state, "failing for 2") && !strings.HasPrefix(state, "failing for 3") {
			t.Errorf("the fault does not last: %q", state)
		}
		move(f.other, f.dir)
		time.Sleep(time.Minute)
		r.score("n2")
		if got := f.all(); got["n1"] != "1" || got["n2"] != marked || r.record.State() != "" {
			t.Errorf("once there is room: %v, state %q", got, r.record.State())
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		if n, err := reconcile.LeftBehind(f.dir); len(n) != 0 || err != nil {
			t.Errorf("%v nodes in the journal, %v", n, err)
		}
	})
}

// While the journal cannot be written a lost mark is not set again, since a restart might not undo it; reliefs are made.
// Once it can be written, the mark is set again.
func TestALostMarkWaitsForTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir() + "/journal"
		f := &fake{t: t, dir: dir, other: dir + ".away", fails: never, nodes: map[string]reconcile.State{"n1": "1", "n2": "2"}}
		r := start(t, f, nil)
		r.score("n1", "n2")
		if err := os.Rename(f.dir, f.other); err != nil { // not writable even for root
			t.Fatal(err)
		}
		f.set("n2", "2")
		r.score("n2")
		time.Sleep(3 * time.Minute) // more than one verification
		synctest.Wait()
		if got := f.all(); got["n1"] != "1" || got["n2"] != "2" || f.changes("n2") != 1 || !strings.Contains(r.record.State(), "feedback journal") {
			t.Errorf("without a journal: %v, n2 changed %d times, state %q", got, f.changes("n2"), r.record.State())
		}
		if err := os.Rename(f.other, f.dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := f.all(); got["n2"] != marked || r.record.State() != "" {
			t.Errorf("with a journal the lost mark is not set again: %v, state %q", got, r.record.State())
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		if got := f.all(); got["n2"] != "2" {
			t.Errorf("after the stop: %v", got)
		}
	})
}

// A relief that the journal missed is written once it can be, although nothing else changes: otherwise a restart would
// undo a change that is no longer there.
func TestAMissedReliefIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir() + "/journal"
		f := &fake{t: t, dir: dir, other: dir + ".away", fails: never, nodes: map[string]reconcile.State{"n1": "1"}}
		r := start(t, f, nil)
		r.score("n1")
		if err := os.Rename(f.dir, f.other); err != nil { // not writable even for root
			t.Fatal(err)
		}
		r.score()
		if got := f.all(); got["n1"] != "1" || !strings.Contains(r.record.State(), "feedback journal") {
			t.Errorf("without a journal: %v, state %q", got, r.record.State())
		}
		if err := os.Rename(f.other, f.dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if left, err := reconcile.LeftBehind(f.dir); len(left) != 0 || err != nil || r.record.State() != "" {
			t.Errorf("with a journal %v are in it, %v, state %q", left, err, r.record.State())
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// Of thousands of refusals near a region a few are logged and audited by node; all are counted.
func TestThousandsOfRefusalsAreSummedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, dir: t.TempDir(), fails: never, nodes: map[string]reconcile.State{"n0": "1"}}
		r := start(t, f, func(c *reconcile.Config) { c.Policy.MaxNodes = 1 })
		var names []string
		for i := range 5000 {
			names = append(names, fmt.Sprint("n", i))
		}
		r.score(names...)
		r.score(names...)
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		if n := len(r.record.Audit.Rows()); n > 25 || !strings.Contains(r.audited(), "mark 4983 more nodes refused") {
			t.Errorf("%d rows of the audit:\n%.2000s", n, r.audited())
		}
		want := "# HELP giverny_feedback_refused_total Changes refused and deliveries dropped, by reason.\n# TYPE giverny_feedback_refused_total counter\n"
		for _, reason := range slices.Sorted(slices.Values(reconcile.Reasons())) {
			want += fmt.Sprintf("giverny_feedback_refused_total{reason=%q,sink=\"fake\"} %d\n", reason, map[string]int{"too_many": 4999}[reason])
		}
		if err := testutil.GatherAndCompare(r.record.Registry, strings.NewReader(want), "giverny_feedback_refused_total"); err != nil {
			t.Error(err)
		}
	})
}
