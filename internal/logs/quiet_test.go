package logs_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/internal/logs"
)

// lines calls act in a bubble, and returns the log without times.
func lines(t *testing.T, level string, act func(log *logger)) []string {
	t.Helper()
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		cfg := logs.DefaultConfig()
		cfg.Level = level
		log := logs.New(cfg, &out)
		act(&logger{t, log, &out})
		synctest.Wait()
		logs.Flush(log)
	})
	var all []string
	for line := range strings.Lines(out.String()) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), " ")
		all = append(all, line)
	}
	return all
}

// A stream of invalid messages with one cause: the first is logged immediately, then a line a minute, and finally the total.
func TestDeadLettersAreSummedUp(t *testing.T) {
	got := lines(t, "info", func(log *logger) {
		for i := range 3 * 60_000 {
			log.Warn("kafka: record moved to the dead-letter topic", "offset", i, "reason", "malformed", "error", fmt.Errorf("byte %d", i))
			if i == 0 && log.lines() != 1 {
				t.Error("the first is not written at once")
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(3 * time.Minute)
	})
	if len(got) > 5 {
		t.Errorf("%d lines of 180,000 records", len(got))
	}
	wantLines(t, got,
		`level=WARN msg="kafka: record moved to the dead-letter topic" offset=0 reason=malformed error="byte 0"`,
		"repeats.count=", "repeats.count=", "repeats.count=",
		`level=INFO msg="logs: message no longer repeated" message="kafka: record moved to the dead-letter topic" total=180000`)
}

// 76 devices fail at polls of 2 s for 20 s, then the process ends.
func TestDevicesAreCounted(t *testing.T) {
	got := lines(t, "info", func(log *logger) {
		for range 10 {
			for d := range 76 {
				log.With("device", fmt.Sprint("switch", d)).Warn("perfquery: device timed out", "attempt", d)
			}
			time.Sleep(2 * time.Second)
		}
	})
	wantLines(t, got,
		`level=WARN msg="perfquery: device timed out" device=switch0 attempt=0`,
		`level=WARN msg="perfquery: device timed out" device=switch75 attempt=75 repeats.count=759 repeats.devices=76 total=760`)
}

func TestCausesAreNotMerged(t *testing.T) {
	got := lines(t, "info", func(log *logger) {
		for range 3 {
			log.Warn("kafka: record dropped", "reason", "malformed")
			log.Warn("kafka: record dropped", "reason", "wrong_fabric")
			log.Error("kafka: record dropped", "reason", "malformed")
			log.With("part", "store").Warn("pipeline: part failed")
			log.With("feed", "jobs.squeue").Warn("feeds: state changed")
			log.With("feed", "failures.log").Warn("feeds: state changed")
			log.With("part", "topics").Warn("pipeline: part failed")
			log.Info("pipeline: started")
		}
	})
	firsts := 0
	for _, line := range got {
		if !strings.Contains(line, "repeats") && !strings.Contains(line, "level=INFO") {
			firsts++
		}
	}
	if firsts != 7 || strings.Count(strings.Join(got, "\n"), "repeats.count=2") != 7 || strings.Count(strings.Join(got, "\n"), "started") != 3 {
		t.Errorf("want 7 causes, each first and summed up, and 3 records of info:\n%s", strings.Join(got, "\n"))
	}
}

// A cause that recurs after a pause is new, and one that occurred once leaves no further line; the log level still applies.
func TestACauseIsForgotten(t *testing.T) {
	got := lines(t, "warn", func(log *logger) {
		for range 3 {
			log.Error("store: write failed", "error", errors.New("refused"))
			time.Sleep(2 * time.Minute)
		}
		log.Info("not written")
	})
	if len(got) != 3 || strings.Contains(strings.Join(got, ""), "repeats") {
		t.Errorf("want 3 lines:\n%s", strings.Join(got, "\n"))
	}
}

// Lines and memory are bounded for any number of causes.
func TestManyCauses(t *testing.T) {
	got := lines(t, "info", func(log *logger) {
		for i := range 5000 {
			log.Warn("command: refused", "reason", fmt.Sprint("reason ", i))
		}
	})
	if len(got) != 258 || !strings.Contains(got[257], "repeats.count=4743") {
		t.Errorf("%d lines, the last %q; want one of each of 256 causes, and two of the others", len(got), got[len(got)-1])
	}
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("line %d is %q, want it to hold %q", i, got[i], want[i])
		}
	}
}
