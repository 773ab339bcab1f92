package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Run injects and heals the faults of a walk on schedule. It returns once all are healed, also if ctx ends
// early; note is called with a line for each fault injected and healed. A fault that cannot be injected or
// healed is an error, and the walk continues without it.
func Run(ctx context.Context, steps []Step, note func(line string)) error {
	began := time.Now()
	var mu sync.Mutex // guards errs, and serialises note
	var errs []error
	say := func(what string, s Step, err error) {
		mu.Lock()
		defer mu.Unlock()
		line := fmt.Sprintf("%7.1fs %s %s", time.Since(began).Seconds(), what, s.Fault.Name())
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", what, s.Fault.Name(), err))
			line += ": " + err.Error()
		}
		note(line)
	}
	var wg sync.WaitGroup
	for _, s := range steps {
		wg.Go(func() {
			if !sleep(ctx, time.Until(began.Add(s.At))) {
				return
			}
			err := s.Fault.Inject(ctx)
			say("throws", s, err)
			sleep(ctx, s.Hold)
			heal, cancel := context.WithTimeout(context.WithoutCancel(ctx), healTimeout)
			defer cancel()
			say("heals ", s, s.Fault.Heal(heal))
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

const healTimeout = time.Minute

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// Counts counts the faults of a walk by kind.
func Counts(steps []Step) map[string]int {
	counts := map[string]int{}
	for _, s := range steps {
		counts[s.Kind]++
	}
	return counts
}
