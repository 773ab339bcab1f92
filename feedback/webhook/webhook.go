package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
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
	queued map[string]bool // by ID: notices of results of which others cannot be queued yet
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
		wake: make(chan struct{}, 1), tracks: map[string]*notice.Tracker{}, queued: map[string]bool{}}, nil
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
	t, err := w.load(r.Snapshot.Fabric)
	if err != nil {
		return err
	}
	if older := t.Last() - r.Snapshot.Interval.StartNanos; older > int64(clockAhead) { // else it is this clock that is wrong
		w.setBack(r.Snapshot.Fabric, t)
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
	if w.cfg.DryRun { // else notices sent later would change or end regions whose opening was never sent
		return nil
	}
	return atomicfile.Write(w.statePath(r.Snapshot.Fabric), after)
}

// Last is the start of the last interval of a fabric whose notices are on disk.
func (w *Webhook) Last(fabric string) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.load(fabric)
	if err != nil {
		return 0, err
	}
	w.setBack(fabric, t)
	return t.Last(), nil
}

// setBack makes a tracker whose last interval is in the future go on with present ones; w.mu is held.
func (w *Webhook) setBack(fabric string, t *notice.Tracker) {
	if ahead := time.Until(time.Unix(0, t.Last())); ahead > clockAhead { // else every result until then would be ignored
		w.log.Error("webhook: last interval is in the future, the clock was ahead; continuing with those of the last hour", "fabric", fabric, "ahead", ahead.Round(time.Second))
		t.SetBack(time.Now().Add(-notice.FlapWindow).UnixNano())
	}
}

// clockAhead is by how much the last interval may be in the future: readings of agents whose clocks are ahead may be.
const clockAhead = time.Hour

// load returns the tracker of a fabric; w.mu is held.
func (w *Webhook) load(fabric string) (*notice.Tracker, error) {
	if err := w.open(); err != nil {
		return nil, err
	}
	if t := w.tracks[fabric]; t != nil {
		return t, nil
	}
	t := notice.New(schema.Severity(w.cfg.MinSeverity))
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

// say queues notices; w.mu is held. After an error it has queued some of them, which it does not repeat.
func (w *Webhook) say(notices []notice.Notice) error {
	defer func() {
		w.record.Pending(w.queue.len())
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}()
	for i := range notices {
		n := &notices[i]
		if w.cfg.DryRun {
			w.record.Acted(action(n.Fabric, n.ID, string(n.Event), true))
			continue
		}
		if w.queued[n.ID] {
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
		w.queued[n.ID] = true
		w.record.Dropped(Full, dropped)
	}
	for i := range notices {
		delete(w.queued, notices[i].ID)
	}
	return nil
}

func action(fabric, key, reason string, dry bool) schema.FeedbackAction {
	return schema.FeedbackAction{Fabric: fabric, Action: actionDeliver, Target: key, Reason: reason, DryRun: dry, Outcome: schema.FeedbackDone}
}
