package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/giverny/giverny/feedback/notice"
	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/internal/secret"
)

// Bounds of the back-off between delivery attempts.
const (
	minPause = time.Second
	maxPause = 5 * time.Minute

	waitUnread    = time.Hour        // for a notice that cannot be read
	maxQueuePause = 15 * time.Second // between attempts to queue notices
)

// Run delivers the queued notices in order until ctx ends. The rest stays on disk; in a dry run, all.
func (w *Webhook) Run(ctx context.Context) error {
	w.mu.Lock()
	err := w.open()
	w.mu.Unlock()
	if err != nil {
		return err
	}
	defer w.close()
	if w.record.Pending(w.queue.len()); w.cfg.DryRun {
		<-ctx.Done()
		return nil
	}
	d := delivery{w: w, pauses: retry.Backoff{Min: minPause, Max: maxPause}.Pauses()}
	for ctx.Err() == nil {
		w.record.Pending(w.queue.len())
		it, number, there := d.next(ctx)
		if !there {
			continue
		}
		if !w.pace(ctx) {
			return nil
		}
		d.send(ctx, &it, number)
	}
	return nil
}

// delivery is what Run remembers from notice to notice.
type delivery struct {
	w      *Webhook
	pauses *retry.Pauses

	unread      uint64    // the number of a notice that cannot be read
	unreadSince time.Time // since when
}

// fail reports a failure and pauses, at least for a while.
func (d *delivery) fail(ctx context.Context, err error, least time.Duration) {
	pause := max(least, d.pauses.Next())
	d.w.record.Failed(err, pause)
	retry.Sleep(ctx, pause)
}

// next returns the oldest notice; false: it waited for one, or dealt with one that is not to be sent.
func (d *delivery) next(ctx context.Context) (it item, number uint64, there bool) {
	w := d.w
	it, age, number, ok, err := w.queue.first()
	switch {
	case !ok:
		select {
		case <-ctx.Done():
		case <-w.wake:
		}
	case errors.Is(err, errDamaged) || err != nil && number == d.unread && time.Since(d.unreadSince) > waitUnread:
		w.drop(number, it, Damaged, err)
	case err != nil: // such as too many open files
		if number != d.unread {
			d.unread, d.unreadSince = number, time.Now()
		}
		d.fail(ctx, err, 0)
	case age > w.cfg.MaxAge:
		w.drop(number, it, Expired, fmt.Errorf("waiting since %v", it.Queued.UTC().Round(time.Second)))
	default:
		return it, number, true
	}
	return item{}, 0, false
}

// send makes one attempt to deliver a notice.
func (d *delivery) send(ctx context.Context, it *item, number uint64) {
	w := d.w
	err := w.deliver(ctx, it)
	var failed *failure
	switch {
	case err == nil:
		w.queue.remove(number)
		w.record.Worked()
		w.record.Acted(action(it.Fabric, it.Key, "accepted by the receiver", false))
		d.pauses.Reset()
	case ctx.Err() != nil:
	case errors.As(err, &failed) && failed.final:
		w.drop(number, *it, Rejected, err)
		w.record.FailedForGood(err)
	case failed != nil:
		d.fail(ctx, err, failed.wait)
	default:
		d.fail(ctx, err, 0)
	}
}

// close releases the folder.
func (w *Webhook) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue.release()
	w.queue, w.tracks = nil, map[string]*notice.Tracker{}
}

// drop removes a notice without delivery.
func (w *Webhook) drop(number uint64, it item, reason string, err error) {
	w.queue.remove(number)
	a := action(it.Fabric, it.Key, err.Error(), false)
	w.record.Refused(reason, a)
}

// pace waits until the rate limit allows another delivery; false: ctx ended.
func (w *Webhook) pace(ctx context.Context) bool {
	for now := time.Now(); ; now = time.Now() {
		for len(w.sent) > 0 && now.Sub(w.sent[0]) >= time.Minute {
			w.sent = w.sent[1:]
		}
		if len(w.sent) < w.cfg.PerMinute {
			w.sent = append(w.sent, now)
			return true
		}
		if !retry.Sleep(ctx, time.Minute-now.Sub(w.sent[0])) {
			return false
		}
	}
}

// failure is a non-2xx response.
type failure struct {
	status string
	final  bool // permanent: do not retry
	wait   time.Duration
}

func (f *failure) Error() string { return "the receiver answered " + f.status }

// deliver makes one attempt.
func (w *Webhook) deliver(ctx context.Context, it *item) error {
	request, err := secret.NewRequest(ctx, http.MethodPost, w.cfg.URL.Reveal(), bytes.NewReader(it.Body))
	if err != nil {
		return err
	}
	key, err := w.cfg.secret()
	if err != nil {
		return err
	}
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "giverny")
	request.Header.Set(KeyHeader, it.Key)
	request.Header.Set(TimestampHeader, timestamp)
	request.Header.Set(SignatureHeader, sign(key, timestamp, it.Body))
	response, err := secret.Do(w.client, request)
	if err != nil {
		return fmt.Errorf("no answer from %s (timeout %v): %w", request.URL.Host, w.cfg.Timeout, err)
	}
	defer response.Body.Close()
	io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that the connection can be reused
	return judge(response)
}

// judge classifies a response: 2xx is success; a wrong or unwanted body is a permanent
// failure. Other failures, such as a wrong key or URL, can be fixed, so they are
// retried until the notice expires.
func judge(response *http.Response) error {
	code := response.StatusCode
	if code/100 == 2 {
		return nil
	}
	f := &failure{status: response.Status}
	if code/100 == 3 {
		f.status += ", a redirect, which is not followed: set url to its target"
	}
	switch code {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		f.wait = min(retryAfter(response.Header, time.Now()), maxPause)
	case http.StatusBadRequest, http.StatusGone, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		f.final = true
	}
	return f
}

// retryAfter is the pause that the receiver requests (RFC 9110, 10.2.3), in seconds or as a
// date, which is relative to the response's Date header if present. 0: none requested.
func retryAfter(header http.Header, now time.Time) time.Duration {
	asked := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(asked); err == nil {
		return time.Duration(max(0, min(seconds, int(maxPause/time.Second)))) * time.Second
	}
	until, err := http.ParseTime(asked)
	if err != nil {
		return 0
	}
	if sent, err := http.ParseTime(header.Get("Date")); err == nil {
		now = sent
	}
	return max(0, until.Sub(now))
}
