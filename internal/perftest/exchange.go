package perftest

import (
	"context"
	"errors"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// Side is one side of a test.
type Side struct {
	Host Host
	Argv []string
}

// Exchange runs the two sides of a test and returns what each printed. The client is
// started again while the server does not listen yet.
func Exchange(ctx context.Context, server, client Side) (served, asked []byte, err error) {
	group, ctx := errgroup.WithContext(ctx)
	ended := make(chan struct{})
	group.Go(func() error {
		defer close(ended)
		var err error
		served, err = server.Host.Run(ctx, server.Argv...)
		return err
	})
	group.Go(func() (err error) {
		asked, err = connect(ctx, client, ended)
		return err
	})
	err = group.Wait()
	return served, asked, err
}

// The pause between two attempts to reach the server, which needs a while until it
// listens; it doubles.
const (
	firstConnectRetry = 50 * time.Millisecond
	maxConnectRetry   = time.Second
)

// connect runs the client, again while the server does not listen yet.
func connect(ctx context.Context, client Side, serverEnded <-chan struct{}) ([]byte, error) {
	for retry := firstConnectRetry; ; retry = min(maxConnectRetry, 2*retry) {
		text, err := client.Host.Run(ctx, client.Argv...)
		var failed *CommandError
		if !errors.As(err, &failed) || !strings.Contains(failed.Said, "Couldn't connect") {
			return text, err
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
