package alertmanager

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/feedback/record"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/tlsfile"
	"github.com/giverny/giverny/schema"
)

// Reasons for which an alert, or its end, is not sent.
const (
	TooMany = "too_many"
	Expired = "expired" // no member took its end while that was of use
)

// Reasons lists them.
func Reasons() []string { return []string{TooMany, Expired} }

// Alerts that are sent at a time are at most maxAlerts, the most severe; resolved
// ones are sent again for keepResolved, in case the first was lost.
const (
	maxAlerts    = 1000
	keepResolved = 15 * time.Minute
	resendsAlive = 4
	batch        = 64
)

// Actions, as the audit has them.
const (
	actionFire    = "fire"
	actionResolve = "resolve"
)

// active is an alert that is on, or has been resolved of late.
type active struct {
	Alert
	fabric   string
	resolved time.Time // zero: it is on
	settled  bool      // what it is now has been sent
}

// Alertmanager sends the alerts of all fabrics.
type Alertmanager struct {
	cfg      Config
	record   *record.Recorder
	client   *http.Client
	password string
	wake     chan struct{}

	mu        sync.Mutex // guards alerts and incidents
	alerts    map[string]*active
	incidents incidents
}

// New makes the sender of a valid configuration, inert.
func New(cfg Config, rec *record.Recorder) (*Alertmanager, error) {
	files := tlsfile.Files{CA: cfg.CA}
	config, err := files.Load()
	if err != nil {
		return nil, faults.At("feedback.alertmanager", err)
	}
	password, err := cfg.Password.Or(cfg.PasswordFile)
	if err != nil {
		return nil, fmt.Errorf("feedback.alertmanager.password: %w", err)
	}
	return &Alertmanager{cfg: cfg, record: rec, password: password, wake: make(chan struct{}, 1), alerts: map[string]*active{}, incidents: incidents{},
		client: &http.Client{Timeout: cfg.Timeout, Transport: &http.Transport{TLSClientConfig: config, IdleConnTimeout: time.Minute}}}, nil
}

// Take takes a result: its regions are what is on. While the state of the network is
// not known, what is on stays so.
func (a *Alertmanager) Take(r *schema.IntervalResult) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fabric, now := r.Snapshot.Fabric, time.Now()
	on := map[string]bool{}
	list := a.incidents.alerts(r, a.cfg.MinSeverity, a.cfg.PageURL, now)
	if len(list) > maxAlerts {
		slices.SortStableFunc(list, worstFirst)
		a.record.Dropped(TooMany, len(list)-maxAlerts)
		list = list[:maxAlerts]
	}
	for _, alert := range list {
		id := alert.identity()
		on[id] = true
		have := a.alerts[id]
		if have == nil || !have.resolved.IsZero() {
			a.alerts[id] = &active{Alert: alert, fabric: fabric}
			continue
		}
		have.Annotations, have.GeneratorURL = alert.Annotations, alert.GeneratorURL
	}
	for id, have := range a.alerts {
		if have.fabric == fabric && !on[id] && have.resolved.IsZero() && r.Network.Unknown == nil {
			have.resolved, have.settled = now, false
		}
	}
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// worstFirst orders alerts by severity.
func worstFirst(x, y Alert) int {
	return cmp.Or(cmp.Compare(y.severity, x.severity), strings.Compare(x.identity(), y.identity()))
}

// Forget drops the alerts of a fabric, without resolving them: its next owner sends the same, or lets them expire.
func (a *Alertmanager) Forget(fabric string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.alerts, func(_ string, have *active) bool { return have.fabric == fabric })
	maps.DeleteFunc(a.incidents, func(key regionKey, _ *incident) bool { return key.fabric == fabric })
}

// Run sends what is new at once, and everything again each Resend, until ctx ends.
func (a *Alertmanager) Run(ctx context.Context) error {
	again := time.NewTicker(a.cfg.Resend)
	defer again.Stop()
	for all := false; ; {
		a.send(ctx, all)
		select {
		case <-ctx.Done():
			return nil
		case <-a.wake:
			all = false
		case <-again.C:
			all = true
		}
	}
}

// send sends what is new, or all. What fails is sent again with the next Resend.
func (a *Alertmanager) send(ctx context.Context, all bool) {
	list, alerts := a.due(time.Now(), all)
	if len(alerts) == 0 {
		return
	}
	if !a.cfg.DryRun {
		impaired, err := a.post(ctx, alerts)
		if err != nil {
			if ctx.Err() == nil {
				a.record.Failed(err, a.cfg.Resend)
			}
			return
		}
		a.record.Impaired(impaired)
	}
	a.record.Worked()
	a.sent(list)
}

// due lists what is to be sent, with its ends, and forgets what was resolved long ago.
func (a *Alertmanager) due(now time.Time, all bool) (list []due, alerts []Alert) {
	a.mu.Lock()
	defer a.mu.Unlock()
	pending := 0
	for _, id := range slices.Sorted(maps.Keys(a.alerts)) {
		have := a.alerts[id]
		if !have.resolved.IsZero() && now.Sub(have.resolved) > max(keepResolved, resendsAlive*a.cfg.Resend) {
			if !have.settled { // a member that has it lets it expire by now
				a.record.Dropped(Expired, 1)
			}
			delete(a.alerts, id)
			continue
		}
		if !have.settled {
			pending++
		}
		if have.settled && !all {
			continue
		}
		alert := have.Alert
		alert.EndsAt = now.Add(resendsAlive * a.cfg.Resend).UTC()
		if !have.resolved.IsZero() {
			alert.EndsAt = have.resolved.UTC()
		}
		list, alerts = append(list, due{have, have.resolved}), append(alerts, alert)
	}
	a.record.Pending(pending)
	return list, alerts
}

// due is an alert as it was sent.
type due struct {
	*active
	resolved time.Time
}

// sent notes what has been taken, unless it has changed meanwhile.
func (a *Alertmanager) sent(list []due) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range list {
		have := d.active
		if have.settled || !have.resolved.Equal(d.resolved) {
			continue
		}
		have.settled = true
		name := actionFire
		if !have.resolved.IsZero() {
			name = actionResolve
		}
		a.record.Acted(schema.FeedbackAction{Fabric: have.fabric, Action: name, Target: have.Labels["region"], DryRun: a.cfg.DryRun,
			Outcome: schema.FeedbackDone, Reason: have.Annotations["summary"]})
	}
	a.record.Pending(0)
}

// post sends alerts to every member of the cluster; it succeeds where one takes them all: what the others failed by is impaired.
// The members are sent to side by side, so that one that hangs delays no other: alerts that come after their ends would be
// resolved.
func (a *Alertmanager) post(ctx context.Context, alerts []Alert) (impaired, err error) {
	ctx, cancel := context.WithTimeout(ctx, (resendsAlive-1)*a.cfg.Resend)
	defer cancel()
	var bodies [][]byte
	for some := range slices.Chunk(alerts, batch) {
		body, err := json.Marshal(some)
		if err != nil {
			return nil, fmt.Errorf("alertmanager: %w", err)
		}
		bodies = append(bodies, body)
	}
	errs := make([]error, len(a.cfg.URLs))
	var members errgroup.Group
	for i := range a.cfg.URLs {
		members.Go(func() error {
			errs[i] = a.postAll(ctx, strings.TrimSuffix(a.cfg.URLs[i].Reveal(), "/")+"/api/v2/alerts", bodies)
			return nil
		})
	}
	_ = members.Wait() // which has no errors of its own
	if slices.Contains(errs, nil) {
		return errors.Join(errs...), nil
	}
	return nil, errors.Join(errs...)
}

// postAll sends to one member. One that does not answer is not asked again; what one refuses keeps nothing else from it.
func (a *Alertmanager) postAll(ctx context.Context, address string, bodies [][]byte) error {
	var first error
	for _, body := range bodies {
		err := a.postTo(ctx, address, body)
		first = cmp.Or(first, err)
		if _, answered := errors.AsType[*answerError](err); err != nil && !answered {
			break
		}
	}
	return first
}

// answerError is an answer that is no success.
type answerError struct{ host, status, said string }

func (e *answerError) Error() string {
	return fmt.Sprintf("%s answers %s: %s", e.host, e.status, e.said)
}

func (a *Alertmanager) postTo(ctx context.Context, address string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return errors.New("alertmanager: the address is no URL") // the error would print it whole
	}
	request.Header.Set("Content-Type", "application/json")
	if a.cfg.User != "" {
		request.SetBasicAuth(a.cfg.User, a.password)
	}
	response, err := a.client.Do(request)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // without the address
	}
	if err != nil {
		return fmt.Errorf("no answer from %s (timeout %v): %w", request.URL.Host, a.cfg.Timeout, err)
	}
	defer response.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(response.Body, 300))
	if response.StatusCode/100 != 2 {
		return &answerError{request.URL.Host, response.Status, string(said)}
	}
	return a.checkClock(request.URL.Host, response.Header.Get("Date"))
}

// checkClock finds out whether alerts are over for a member when they come, by its clock.
func (a *Alertmanager) checkClock(host, date string) error {
	at, err := http.ParseTime(date)
	if ahead := time.Until(at); err == nil && ahead > (resendsAlive-1)*a.cfg.Resend {
		return fmt.Errorf("the clock of %s is %v ahead of this host's: alerts are over when they come there; set both by NTP", host, ahead.Round(time.Second))
	}
	return nil
}
