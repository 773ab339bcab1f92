package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/giverny/giverny/feedback/notice"
	"github.com/giverny/giverny/feedback/record"
	"github.com/giverny/giverny/internal/atomicfile"
	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/tlsfile"
	"github.com/giverny/giverny/schema"
)

// Reasons for dropping a notice.
const (
	Full     = "full"     // the queue exceeds its limit; the oldest is dropped
	Expired  = "expired"  // queued for longer than max_age
	Rejected = "rejected" // permanent failure: the receiver will never accept it
	Damaged  = "damaged"  // its file is no notice, or gone
)

// Reasons lists the drop reasons, for metrics.
func Reasons() []string { return []string{Full, Expired, Rejected, Damaged} }

// actionDeliver is the name of a delivery in the audit log.
const actionDeliver = "deliver"

// Webhook sends notices of all fabrics to one receiver.
type Webhook struct {
	cfg    Config
	dir    string
	record *record.Recorder
	log    *slog.Logger
	client *http.Client
	wake   chan struct{}
	sent   []time.Time // deliveries within the last minute; used only by Run

	mu     sync.Mutex // guards the fields below
	queue  *queue     // nil until first used
	tracks map[string]*notice.Tracker
}

// New returns a webhook for a valid configuration, with its files in dir. Nothing is sent before Run.
func New(cfg Config, dir string, rec *record.Recorder, log *slog.Logger) (*Webhook, error) {
	files := cfg.TLS.files()
	connections, err := tlsfile.NewClient(files, log.With("sink", rec.Sink()))
	if err != nil {
		return nil, fmt.Errorf("webhook %s: tls.%w", cfg.Name, err)
	}
	if _, err := cfg.secret(); err != nil {
		return nil, fmt.Errorf("webhook %s: %w", cfg.Name, err)
	}
	client := &http.Client{Timeout: cfg.Timeout, Transport: connections.Use(&http.Transport{MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute}),
		CheckRedirect: secret.NoRedirect}
	return &Webhook{cfg: cfg, dir: dir, record: rec, log: log.With("sink", rec.Sink()), client: client,
		wake: make(chan struct{}, 1), tracks: map[string]*notice.Tracker{}}, nil
}

// Name is the name of the receiver.
func (w *Webhook) Name() string { return w.cfg.Name }

// State describes the current failures; empty: healthy.
func (w *Webhook) State() string {
	state := w.record.State()
	if err := w.record.Impairment(); err != nil {
		state = strings.TrimPrefix(state+"; notices cannot be queued: "+err.Error(), "; ")
	}
	return state
}

// Put queues the notices of a result. They are on disk when it returns nil. A full disk is a fault of the webhook, not of the
// analysis: it retries until ctx ends.
func (w *Webhook) Put(ctx context.Context, r *schema.IntervalResult) error {
	err := retry.Backoff{Min: minPause, Max: maxQueuePause}.Do(ctx, func() error { return w.put(r) },
		func(err error, _ int, _ time.Duration) { w.record.Impaired(err) })
	if err == nil {
		w.record.Impaired(nil)
	}
	return err
}

func (w *Webhook) put(r *schema.IntervalResult) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.track(r.Snapshot.Fabric)
	if err != nil {
		return err
	}
	before, err := t.Save()
	if err != nil {
		return err
	}
	notices := t.Step(r)
	after, err := t.Save()
	if err != nil { // it would be the same at the next attempt
		w.log.Error("webhook: interval dropped, it cannot be written as JSON", "fabric", r.Snapshot.Fabric, "interval", r.Snapshot.Interval.String(), "error", err)
		w.record.Dropped(Damaged, max(1, len(notices)))
		return t.Load(before)
	}
	if err := w.say(notices); err != nil {
		return errors.Join(err, t.Load(before)) // the result is then processed again, with the same keys
	}
	if w.cfg.DryRun { // else a region that nobody was told of would be changed or ended when notices are sent again
		return nil
	}
	return atomicfile.Write(w.statePath(r.Snapshot.Fabric), after)
}

// Last is the start of the last interval of a fabric whose notices are on disk.
func (w *Webhook) Last(fabric string) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.track(fabric)
	if err != nil {
		return 0, err
	}
	return t.Last(), nil
}

// track returns the tracker of a fabric; w.mu is held.
func (w *Webhook) track(fabric string) (*notice.Tracker, error) {
	t, err := w.load(fabric)
	if err != nil {
		return nil, err
	}
	if ahead := time.Until(time.Unix(0, t.Last())); ahead > clockAhead { // else every result until then would be ignored
		w.log.Error("webhook: last interval is in the future, the clock was ahead; continuing from now", "fabric", fabric, "ahead", ahead.Round(time.Second))
		t.SetBack(time.Now().UnixNano())
	}
	return t, nil
}

// clockAhead is by how much the last interval may be in the future: readings of agents whose clocks are ahead may be.
const clockAhead = time.Hour

// load is track without regard to the time.
func (w *Webhook) load(fabric string) (*notice.Tracker, error) {
	if err := w.open(); err != nil {
		return nil, err
	}
	if t := w.tracks[fabric]; t != nil {
		return t, nil
	}
	t := notice.New(w.cfg.MinSeverity)
	text, err := readState(w.statePath(fabric))
	if err != nil {
		return nil, fmt.Errorf("webhook %s: %w", w.cfg.Name, err)
	}
	if text != nil {
		if err := t.Load(text); err != nil { // start with the regions that exist now
			w.log.Error("webhook: state unreadable, starting without it", "fabric", fabric, "error", err)
		}
	}
	w.tracks[fabric] = t
	return t, nil
}

func (w *Webhook) statePath(fabric string) string {
	return filepath.Join(w.dir, "state-"+url.PathEscape(fabric)+".json")
}

// open opens the queue, which locks the folder; w.mu is held.
func (w *Webhook) open() (err error) {
	if w.queue == nil {
		w.queue, err = openQueue(w.dir, w.cfg.MaxQueue)
	}
	return err
}

// say queues notices; w.mu is held.
func (w *Webhook) say(notices []notice.Notice) error {
	for i := range notices {
		n := &notices[i]
		if w.cfg.DryRun {
			w.record.Acted(action(n.Fabric, n.ID, string(n.Event), true))
			continue
		}
		body, err := json.Marshal(n)
		if err != nil {
			return fmt.Errorf("webhook %s: %w", w.cfg.Name, err)
		}
		dropped, err := w.queue.add(item{Key: n.ID, Fabric: n.Fabric, Queued: time.Now(), Body: body})
		if err != nil {
			return fmt.Errorf("webhook %s: %w", w.cfg.Name, err)
		}
		w.record.Dropped(Full, dropped)
	}
	w.record.Pending(w.queue.len())
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return nil
}

func action(fabric, key, reason string, dry bool) schema.FeedbackAction {
	return schema.FeedbackAction{Fabric: fabric, Action: actionDeliver, Target: key, Reason: reason, DryRun: dry, Outcome: schema.FeedbackDone}
}

// Bounds of the back-off between delivery attempts.
const (
	minPause = time.Second
	maxPause = 5 * time.Minute

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
	pauses := retry.Backoff{Min: minPause, Max: maxPause}.Pauses()
	fail := func(err error, least time.Duration) {
		pause := max(least, pauses.Next())
		w.record.Failed(err, pause)
		retry.Sleep(ctx, pause)
	}
	for ctx.Err() == nil {
		w.record.Pending(w.queue.len())
		it, number, ok, err := w.queue.first()
		switch {
		case !ok:
			select {
			case <-ctx.Done():
			case <-w.wake:
			}
			continue
		case errors.Is(err, errDamaged):
			w.drop(number, it, Damaged, err)
			continue
		case err != nil: // such as too many open files
			fail(err, 0)
			continue
		case time.Since(it.Queued) > w.cfg.MaxAge:
			w.drop(number, it, Expired, fmt.Errorf("waiting since %v", it.Queued.UTC().Round(time.Second)))
			continue
		}
		if !w.pace(ctx) {
			return nil
		}
		err = w.deliver(ctx, &it)
		var failed *failure
		switch {
		case err == nil:
			w.queue.remove(number)
			w.record.Worked()
			w.record.Acted(action(it.Fabric, it.Key, "accepted by the receiver", false))
			pauses.Reset()
		case ctx.Err() != nil:
		case errors.As(err, &failed) && failed.final:
			w.drop(number, it, Rejected, err)
			w.record.Failed(err, 0)
		case failed != nil:
			fail(err, failed.wait)
		default:
			fail(err, 0)
		}
	}
	return nil
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
