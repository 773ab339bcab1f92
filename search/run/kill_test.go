package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/giverny/giverny/search/run"
)

// searchArgument makes the test binary a process that searches, with the log in the
// next argument, and prints its findings.
const searchArgument = "search-until-killed"

const killBudget = 600

func searchUntilKilled(log string) {
	var out bytes.Buffer
	o := options(&testing.B{}, killBudget, 1, &out)
	o.Log = log
	o.OnFinding = func(f run.Finding) error { return json.NewEncoder(os.Stdout).Encode(f) }
	if _, err := run.Run(context.Background(), o); err != nil {
		panic(err)
	}
}

// A search whose process is killed at random times and restarted ends like an
// uninterrupted one.
func TestKilledSearchEndsTheSame(t *testing.T) {
	var whole bytes.Buffer
	mustRun(t, t.Context(), options(t, killBudget, 1, &whole))
	log := filepath.Join(t.TempDir(), "search.log")
	rnd := rand.New(rand.NewPCG(1, 2))
	kills := 0
	for {
		var out bytes.Buffer
		cmd := exec.Command(os.Args[0], searchArgument, log)
		cmd.Stdout, cmd.Stderr = &out, os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		killer := time.AfterFunc(time.Duration(30+rnd.IntN(150)+10*kills)*time.Millisecond, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		killer.Stop()
		if err != nil {
			kills++
			continue
		}
		if out.String() != whole.String() {
			t.Errorf("after %d kills:\n%swant:\n%s", kills, &out, &whole)
		}
		break
	}
	t.Logf("%d kills", kills)
	checkLog(t, log, whole.String())
}
