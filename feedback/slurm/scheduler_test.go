package slurm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/feedback/reconcile"
)

// stubborn is a Slurm that refuses to change some nodes, or hangs on some.
type stubborn struct {
	refused, hanging []string
	taken            map[string]uint32
	calls, most      int
}

func (s *stubborn) look(_ context.Context, names []string) (map[string]node, error) {
	nodes := map[string]node{}
	for _, name := range names {
		nodes[name] = node{Weight: s.taken[name]}
	}
	return nodes, nil
}

func (s *stubborn) perSet() int { return s.most }

// set changes the nodes before the first one it refuses, like slurmctld.
func (s *stubborn) set(_ context.Context, names []string, to node, _ changed) error {
	s.calls++
	for _, name := range names {
		if slices.Contains(s.hanging, name) {
			return fmt.Errorf("no answer: %w", context.DeadlineExceeded)
		}
		if slices.Contains(s.refused, name) {
			return errors.New("invalid request for " + name)
		}
		s.taken[name] = to.Weight
	}
	return nil
}

func hosts(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("host%d", i)
	}
	return names
}

// Of 10,000 nodes all that Slurm accepts are changed, and the number of calls is bounded if it refuses all.
func TestNodesThatSlurmRefuses(t *testing.T) {
	all := hosts(10_000)
	for _, c := range []struct {
		name      string
		stubborn  stubborn
		set       int // number of changed nodes
		mostCalls int
		want      string
	}{
		{"one by scontrol", stubborn{refused: all[5000:5001], most: perCall}, 9999, 40 + 2*9, "invalid request for host5000"},
		{"several by scontrol", stubborn{refused: []string{"host0", "host7", "host999", "host9999"}, most: perCall}, 9996, 40 + 4*2*9, "host999"},
		{"one by slurmrestd", stubborn{refused: all[5000:5001], most: 1}, 9999, 10_000, "host5000"},
		{"one that hangs", stubborn{hanging: all[:1], most: 1}, 9999, 10_000, "deadline"},
		{"all", stubborn{refused: all, most: perCall}, 0, mostFailed, "gave up"},
		{"none answers", stubborn{hanging: all, most: 1}, 0, mostFailed / timedOut, "gave up"},
	} {
		to := map[string]reconcile.State{}
		for _, name := range all {
			to[name] = node{Weight: 500}.state()
		}
		c.stubborn.taken = map[string]uint32{}
		s := &Scheduler{cfg: DefaultConfig(), way: &c.stubborn}
		err := s.Set(t.Context(), to)
		if err == nil || !strings.Contains(err.Error(), c.want) || len(c.stubborn.taken) != c.set || c.stubborn.calls > c.mostCalls {
			t.Errorf("%s: %d nodes set by %d calls, want %d by at most %d; %v", c.name, len(c.stubborn.taken), c.stubborn.calls, c.set, c.mostCalls, err)
		}
	}
}

// A change fails if scontrol prints an error, even if its exit status is lost on the way; a warning is none.
func TestErrorsOfScontrolWithoutAnExitStatus(t *testing.T) {
	for said, want := range map[string]string{
		"": "", "scontrol: warning: deprecated": "", "slurm_update error: Invalid user id": "Invalid user id", "scontrol: error: Munge encode failed": "Munge encode failed",
	} {
		cfg := DefaultConfig()
		cfg.Scontrol, cfg.Timeout = []string{"sh", "-c", "case $1 in update) echo '" + said + "';; *) echo 'NodeName=n1 Weight=1 State=IDLE';; esac", "scontrol"}, 5*time.Second
		s, err := New(cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		err = s.way.set(t.Context(), []string{"n1"}, node{Weight: 5}, changed{weight: true})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", said, err)
		}
	}
}

// A node counts as unknown only if Slurm says so: an answer without it is an error, since its mark would be forgotten. A
// program with endless output is killed.
func TestAnswersOfScontrol(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"echo 'NodeName=n1 Weight=1 State=IDLE'; echo 'Node n2 not found'; exit 1", ""},
		{"echo Welcome; echo 'NodeName=n1 Weight=1'; echo 'NodeName=n2 Weight=1'", ""},
		{"true", "the output lacks 2 of 2 nodes"},
		{"printf '\\033[31m\\377red\\001\\n'", "the output lacks 2 of 2 nodes: [31m red"},
		{"echo '<html>'", "the output lacks 2 of 2 nodes: <html>"},
		{"echo 'NodeName=n1 Weight=1'", "the output lacks 1 of 2 nodes"},
		{"echo 'slurm_load_node error: Unable to contact slurm controller'; exit 1", "Unable to contact"},
		{"printf 'NodeName=n1 Weight=1 State=IDLE\nNodeName=n2 State=IDLE Weight=10'", "node n2: the output ends within its Weight"},
		{"printf 'NodeName=n1 Weight=1 State=IDLE\nNodeName=n2 State=IDLE Weight=10 Owner=N/A'", ""},
		{"exec yes", "the output has more than"},
		{"exec sleep 60", "timed out after 5s"},
	} {
		cfg := DefaultConfig()
		cfg.Scontrol, cfg.Timeout = []string{"sh", "-c", c.script, "scontrol"}, 5*time.Second
		s, err := New(cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = s.Look(t.Context(), []string{"n1", "n2"})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.script, err, c.want)
		}
		if took := time.Since(began); c.script == "exec yes" && took > 4*time.Second {
			t.Errorf("%s: %v", c.script, took)
		}
	}
}
