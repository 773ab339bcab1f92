package spool_test

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/ingest/spool"
)

// killedIn names the folder of the process that TestKill9WhileRecordsAreMoved kills.
const killedIn = "GIVERNY_TEST_SPOOL_KILLED_IN"

// A process that is killed again and again while it moves the records of an earlier version, and one that appends beside it,
// loses none, and those of each queue stay in order; some come twice.
func TestKill9WhileRecordsAreMoved(t *testing.T) {
	const records = 1000
	config := spool.Config{Dir: filepath.Join(t.TempDir(), "spool"), MaxBytes: 1 << 20, Fsync: "segment"}
	all := numbered(0, records)
	if err := ofAnEarlierVersion(t, config, all, 0).Close(); err != nil {
		t.Fatal(err)
	}
	random, kills := rand.New(rand.NewPCG(1, 2)), 0
	for done := false; !done; {
		child := exec.Command(os.Args[0], "-test.run=^TestIsKilledWhileItMovesRecords$")
		child.Env = append(os.Environ(), killedIn+"="+config.Dir)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(5+random.IntN(20+10*kills))*time.Millisecond, func() { _ = child.Process.Kill() })
		err := child.Wait()
		timer.Stop()
		var exit *exec.ExitError
		if done = err == nil; !done && (!errors.As(err, &exit) || exit.Exited()) {
			t.Fatal(err)
		}
		if !done {
			kills++
		}
	}
	s := openSpool(t, config)
	defer s.Close()
	var got []string
	for _, queue := range s.Queues() {
		first := s.drainOf(queue)
		seen := map[string]bool{}
		first = slices.DeleteFunc(first, func(r string) bool { again := seen[r]; seen[r] = true; return again })
		if queue == "" || !slices.IsSorted(first) {
			t.Errorf("queue %q: %q", queue, first)
		}
		got = append(got, first...)
	}
	slices.Sort(got)
	if slices.Sort(all); !slices.Equal(got, all) {
		t.Errorf("%d of %d records are left after %d kills", len(got), len(all), kills)
	}
	t.Logf("%d kills", kills)
}

// TestIsKilledWhileItMovesRecords is the process.
func TestIsKilledWhileItMovesRecords(t *testing.T) {
	dir := os.Getenv(killedIn)
	if dir == "" {
		return // TestKill9WhileRecordsAreMoved starts it
	}
	s, err := spool.OpenSmall(spool.Config{Dir: dir, MaxBytes: 1 << 20, Fsync: "segment"}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Distribute(lastDigit); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
