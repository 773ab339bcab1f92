package perftest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// Side is one side of a test.
type Side struct {
	Host Host
	Argv []string
}

// linger is how long one side may run after the other has ended. Normally both end
// within moments: each only has to destroy its queue pairs.
const linger = 30 * time.Second

// Exchange runs the two sides of a test and returns their outputs. The client is retried
// until the server listens. If a side fails the other is stopped immediately; if it ends,
// the other gets linger to end. Sides that run until the deadline of ctx, or too long, are
// named in the error, a context.DeadlineExceeded.
func Exchange(ctx context.Context, server, client Side) (served, asked []byte, err error) {
	return exchange(ctx, server, client, linger, connectLimit)
}

func exchange(ctx context.Context, server, client Side, linger, connectLimit time.Duration) (served, asked []byte, err error) {
	group, ctx := errgroup.WithContext(ctx)
	serverEnded, clientEnded := make(chan struct{}), make(chan struct{})
	var serverErr, clientErr error
	group.Go(func() error {
		defer close(serverEnded)
		served, serverErr = server.Host.Run(ctx, server.Argv...)
		return serverErr
	})
	group.Go(func() error {
		defer close(clientEnded)
		asked, clientErr = connect(ctx, client, serverEnded, connectLimit)
		return clientErr
	})
	group.Go(func() error {
		select {
		case <-serverEnded:
			return await(ctx, clientEnded, linger, "client", client.Host)
		case <-clientEnded:
			return await(ctx, serverEnded, linger, "server", server.Host)
		}
	})
	err = group.Wait()
	if err == context.DeadlineExceeded { // a side ran until the deadline
		var hang []string
		if errors.Is(serverErr, err) {
			hang = append(hang, fmt.Sprintf("the server on %s", server.Host))
		}
		if errors.Is(clientErr, err) {
			hang = append(hang, fmt.Sprintf("the client on %s", client.Host))
		}
		err = fmt.Errorf("timed out: %s: %w", strings.Join(hang, ", "), err)
	}
	return served, asked, err
}

// await waits up to limit for a side to end.
func await(ctx context.Context, ended <-chan struct{}, limit time.Duration, side string, host Host) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ended:
	case <-ctx.Done(): // the other side failed
	case <-timer.C:
		return fmt.Errorf("not finished %v after the other side: the %s on %s: %w", limit, side, host, context.DeadlineExceeded)
	}
	return nil
}

// Bounds of the back-off until the server listens. After connectLimit it counts as
// unreachable.
const (
	firstConnectRetry = 50 * time.Millisecond
	maxConnectRetry   = time.Second
	connectLimit      = 30 * time.Second
)

// connect runs the client, retrying until the server listens.
func connect(ctx context.Context, client Side, serverEnded <-chan struct{}, limit time.Duration) ([]byte, error) {
	begin := time.Now()
	for retry := firstConnectRetry; ; retry = min(maxConnectRetry, 2*retry) {
		text, err := client.Host.Run(ctx, client.Argv...)
		var failed *CommandError
		if !errors.As(err, &failed) || !strings.Contains(failed.Said, "Couldn't connect") {
			return text, err
		}
		if tried := time.Since(begin); tried > limit {
			return text, fmt.Errorf("the server is running, but the client could not reach it for %v: %w", tried.Round(time.Second), err)
		}
		timer := time.NewTimer(retry)
		select {
		case <-serverEnded:
			timer.Stop()
			return text, err
		case <-ctx.Done():
			timer.Stop()
			return text, ctx.Err()
		case <-timer.C:
		}
	}
}
