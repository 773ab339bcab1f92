package retry

import (
	"context"
	"testing"
	"time"
)

func TestBackoffDoublesUpToTheMost(t *testing.T) {
	b := NewBackoff(time.Second, 10*time.Second)
	for round := range 2 {
		bound := time.Second
		for try := range 8 {
			if pause := b.Next(); pause < bound/2 || pause > bound {
				t.Errorf("round %d, try %d: %v, want %v to %v", round, try, pause, bound/2, bound)
			}
			bound = min(2*bound, 10*time.Second)
		}
		b.Reset()
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	if !Sleep(t.Context(), time.Microsecond) {
		t.Error("a sleep that was not cut short reports that it was")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if Sleep(ctx, time.Hour) {
		t.Error("a sleep that was cut short reports that it was not")
	}
}
