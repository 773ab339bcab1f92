package linkhealth

import (
	"testing"

	"pgregory.net/rapid"
)

// The debounce agrees with a twin that uses the whole history: the state is that of the
// last sufficiently long run of equal verdicts; missing readings alone must last longer.
func TestDebounceAgreesWithTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "intervals")
		patience := n + rapid.IntRange(0, 3).Draw(t, "more for missing readings")
		verdicts := rapid.SliceOf(rapid.SampledFrom([]verdict{unknown, isUp, isMissing, isDown})).Draw(t, "verdicts")
		var w watch
		for i, v := range verdicts {
			w.observe(v)
			before := w.failed
			if changed := w.decide(n, patience); changed != (w.failed != before) {
				t.Fatalf("changed %v from %v to %v", changed, before, w.failed)
			}
			if want := twinFailed(verdicts[:i+1], n, patience); w.failed != want {
				t.Fatalf("after %v: failed %v, want %v", verdicts[:i+1], w.failed, want)
			}
		}
	})
}

func twinFailed(verdicts []verdict, n, patience int) (failed bool) {
	var known []verdict
	for _, v := range verdicts {
		if v == unknown {
			continue
		}
		known = append(known, v)
		run, evident := 0, false // the last equal verdicts
		for run < len(known) && (known[len(known)-1-run] == isUp) == (v == isUp) {
			evident = evident || known[len(known)-1-run] == isDown
			run++
		}
		if v == isUp || evident {
			if run >= n {
				failed = v != isUp
			}
		} else if run >= patience {
			failed = true
		}
	}
	return failed
}

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"3", "1", "2", "7"}, "1-3, 7"},
		{[]string{"leaf1", "leaf0", "spine3"}, "leaf0-1, spine3"},
		{[]string{"X+", "X-", "X+"}, "X+, X-"},
		{[]string{"n01", "n02"}, "n01, n02"},
		{[]string{"a1", "a3", "a5", "a7", "a9", "b1", "b3", "b5", "b7"}, "a1, a3, a5, a7, a9, b1, b3, 2 more"},
	} {
		if got := ranges(c.names); got != c.want {
			t.Errorf("%v: %q, want %q", c.names, got, c.want)
		}
	}
}

// More than missing readings shows a failure that others report, that a port reports, or after which cables carry nothing.
func TestEvidentFailures(t *testing.T) {
	var reported, stored, restored, missed, down, idle watch
	reported.accept(true, false, true)
	stored.accept(true, false, false)
	restored.accept(true, false, true)
	restored.accept(false, false, true)
	for range 3 {
		for w, v := range map[*watch]verdict{&missed: isMissing, &down: isDown, &idle: isIdle} {
			w.observe(v)
			w.decide(3, 3)
		}
	}
	for name, c := range map[string]struct {
		w            watch
		failed, want bool
	}{"reported": {reported, true, true}, "stored": {stored, true, false}, "restored": {restored, false, false}, "missing": {missed, true, false}, "down": {down, true, true}, "idle": {idle, true, true}} {
		if c.w.failed != c.failed || c.w.isEvident() != c.want {
			t.Errorf("%s: failed %v, evident %v", name, c.w.failed, c.w.isEvident())
		}
	}
}
