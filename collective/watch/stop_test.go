package watch

import (
	"context"
	"testing"
)

// endsAfter is a context that ends after a number of checks.
type endsAfter struct {
	context.Context
	left int
}

func (c *endsAfter) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// A watcher stopped while it reads or diagnoses a job leaves the job to the next one:
// it is not published, not dropped and not recorded as done.
func TestAJobThatIsInterruptedIsDoneLater(t *testing.T) {
	interrupted := 0
	for checks := range 60 {
		b := newBench(t, "vedrfolnir", nil)
		b.write("17/out/fct.txt", transfers)
		b.write("17/"+NodeMapName, "3\thost3\n")
		b.look(0)
		b.now = b.now.Add(b.cfg.Settle)
		b.w.look(&endsAfter{t.Context(), checks})
		if len(b.published) == 1 {
			break
		}
		interrupted++
		b.dropped(nil)
		b.start()
		b.settle()
		if len(b.published) != 1 {
			t.Fatalf("stopped after %d checks: the next watcher published %v", checks, b.jobs())
		}
	}
	if interrupted < 5 || interrupted == 60 {
		t.Errorf("interrupted %d times", interrupted)
	}
}
