package perftest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func shell(script string) Side { return Side{Argv: []string{"sh", "-c", script}} }

// A side that does not end is killed, and named in the error.
func TestExchangeEndsWhatHangs(t *testing.T) {
	const sleeps = "exec sleep 3600"
	for name, c := range map[string]struct {
		server, client string
		limit, linger  time.Duration
		want           string
		late           bool
	}{
		"none":               {"echo served", "echo asked", time.Minute, time.Minute, "", false},
		"both":               {sleeps, sleeps, 300 * time.Millisecond, time.Minute, "timed out: the server on this host, the client on this host", true},
		"the server":         {sleeps, "echo asked", time.Minute, 100 * time.Millisecond, "not finished 100ms after the other side: the server on this host", true},
		"the client":         {"echo served", sleeps, time.Minute, 100 * time.Millisecond, "not finished 100ms after the other side: the client on this host", true},
		"server, time is up": {sleeps, "echo asked", 5 * time.Second, time.Minute, "timed out: the server on this host: ", true},
		"the client fails":   {sleeps, "echo no such device >&2; exit 1", time.Minute, time.Minute, "no such device", false},
		"the server fails":   {"echo no such device >&2; exit 1", sleeps, time.Minute, time.Minute, "no such device", false},
		"a server that ends": {"sleep .2", "echo Couldn\\'t connect >&2; exit 1", time.Minute, time.Minute, "Couldn't connect", false},
		"no way to it":       {sleeps, "echo Couldn\\'t connect >&2; exit 1", time.Minute, time.Minute, "the server is running, but the client could not reach it for ", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), c.limit)
			defer cancel()
			begin := time.Now()
			served, asked, err := exchange(ctx, shell(c.server), shell(c.client), c.linger, 200*time.Millisecond)
			if took := time.Since(begin); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
			if c.want == "" {
				if err != nil || string(served) != "served\n" || string(asked) != "asked\n" {
					t.Errorf("%q, %q, %v", served, asked, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, context.DeadlineExceeded) != c.late {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
}
