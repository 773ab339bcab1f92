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
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/feedback/record"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/tlsfile"
	"github.com/giverny/giverny/schema"
)

// Reasons why an alert or its resolution is dropped.
const (
	TooMany = "too_many"
	Expired = "expired" // no member accepted the resolution before the alert expired there
)

// Reasons lists the drop reasons, for metrics.
func Reasons() []string { return []string{TooMany, Expired} }

// At most maxAlerts alerts, the most severe, are sent at a time. Resolved alerts are
// re-sent for keepResolved in case the first delivery was lost, but only the last maxResolved of them: with new regions in
// every second, those of keepResolved would be a million, and members let an alert that is not re-sent expire.
const (
	maxAlerts    = 1000
	maxResolved  = 4 * maxAlerts
	keepResolved = 15 * time.Minute
	resendsAlive = 4
	batch        = 64
)

// Action names in the audit log.
const (
	actionFire    = "fire"
	actionResolve = "resolve"
)

// active is an alert that is firing or was resolved recently.
type active struct {
	Alert
	fabric   string
	resolved time.Time // zero: still firing
	settled  bool      // the current state has been delivered
}

// Alertmanager sends the alerts of all fabrics.
type Alertmanager struct {
	cfg    Config
	record *record.Recorder
	client *http.Client
	wake   chan struct{}

	mu        sync.Mutex // guards alerts and incidents
	alerts    map[string]*active
	incidents incidents
}

// New returns a sender for a valid configuration. Nothing is sent before Run.
func New(cfg Config, rec *record.Recorder) (*Alertmanager, error) {
	files := tlsfile.Files{CA: cfg.CA}
	connections, err := tlsfile.NewClient(files, rec.Log())
	if err != nil {
		return nil, faults.At("feedback.alertmanager", err)
	}
	if _, err := cfg.Password.Or(cfg.PasswordFile); err != nil {
		return nil, fmt.Errorf("feedback.alertmanager.password_file: %w", err)
	}
	return &Alertmanager{cfg: cfg, record: rec, wake: make(chan struct{}, 1), alerts: map[string]*active{}, incidents: incidents{},
		client: &http.Client{Timeout: cfg.Timeout, CheckRedirect: secret.NoRedirect, Transport: connections.Use(&http.Transport{IdleConnTimeout: time.Minute})}}, nil
}

// Take updates the alerts from a result: its regions are the ones that fire. While the
// state of the network is unknown, firing alerts keep firing, and so do those of regions whose readings stopped.
func (a *Alertmanager) Take(r *schema.IntervalResult) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fabric, now := r.Snapshot.Fabric, time.Now()
	on := map[string]bool{}
	list := a.incidents.alerts(r, schema.Severity(a.cfg.MinSeverity), a.cfg.PageURL, now)
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
		if have.fabric == fabric && !on[id] && have.resolved.IsZero() && r.Network.Unknown == nil && !r.IsSilent(have.region) {
			have.resolved, have.settled = now, false
		}
	}
	a.limitResolved()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// limitResolved drops the oldest of too many resolved alerts; a.mu is held.
func (a *Alertmanager) limitResolved() {
	var resolved []string
	for id, have := range a.alerts {
		if !have.resolved.IsZero() {
			resolved = append(resolved, id)
		}
	}
	if len(resolved) <= maxResolved {
		return
	}
	slices.SortFunc(resolved, func(x, y string) int {
		return cmp.Or(a.alerts[x].resolved.Compare(a.alerts[y].resolved), strings.Compare(x, y))
	})
	for _, id := range resolved[:len(resolved)-maxResolved] {
		if !a.alerts[id].settled {
			a.record.Dropped(TooMany, 1)
		}
		delete(a.alerts, id)
	}
}

// worstFirst orders alerts by severity.
func worstFirst(x, y Alert) int {
	return cmp.Or(cmp.Compare(y.severity, x.severity), strings.Compare(x.identity(), y.identity()))
}

// Forget drops the alerts of a fabric without resolving them: the next owner re-sends them or lets them expire.
func (a *Alertmanager) Forget(fabric string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.alerts, func(_ string, have *active) bool { return have.fabric == fabric })
	maps.DeleteFunc(a.incidents, func(key regionKey, _ *incident) bool { return key.fabric == fabric })
}

// Run sends changes immediately and everything again every Resend interval, until ctx ends.
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

// send sends changed alerts, or all. Failed deliveries are retried at the next Resend.
func (a *Alertmanager) send(ctx context.Context, all bool) {
	list, alerts := a.due(time.Now(), all)
	if len(alerts) == 0 {
		if all { // there are none
			a.record.Rested()
		}
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

// due lists the alerts to send, with their end times, and deletes those resolved long ago.
func (a *Alertmanager) due(now time.Time, all bool) (list []due, alerts []Alert) {
	a.mu.Lock()
	defer a.mu.Unlock()
	pending := 0
	for _, id := range slices.Sorted(maps.Keys(a.alerts)) {
		have := a.alerts[id]
		if !have.resolved.IsZero() && now.Sub(have.resolved) > max(keepResolved, resendsAlive*a.cfg.Resend) {
			if !have.settled { // a member that still has it has let it expire by now
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
		latest := now
		if !have.resolved.IsZero() {
			alert.EndsAt, latest = have.resolved.UTC(), have.resolved
		}
		if alert.StartsAt.After(latest) { // a clock was ahead; an alert that ends before it starts is rejected
			alert.StartsAt = latest.UTC()
		}
		list, alerts = append(list, due{have, have.resolved}), append(alerts, alert)
	}
	a.record.Pending(pending)
	return list, alerts
}

// due is an alert in the state that was sent.
type due struct {
	*active
	resolved time.Time
}

// sent marks alerts as delivered unless they changed in the meantime, and audits them.
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

// post sends alerts to every member of the cluster and succeeds if one of them accepts all; the errors of the others are
// returned as impaired. Members are contacted in parallel so that a hanging one does not delay the rest: an alert that arrives
// after its end time counts as resolved.
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
	_ = members.Wait() // the functions return no errors
	if slices.Contains(errs, nil) {
		return errors.Join(errs...), nil
	}
	return nil, errors.Join(errs...)
}

// postAll sends to one member. It stops if the member does not respond or its clock is ahead, but not if it rejects a batch.
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

// answerError is a non-2xx response.
type answerError struct{ host, status, said string }

func (e *answerError) Error() string {
	return fmt.Sprintf("%s answers %s: %s", e.host, e.status, e.said)
}

func (a *Alertmanager) postTo(ctx context.Context, address string, body []byte) error {
	request, err := secret.NewRequest(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("alertmanager: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if a.cfg.User != "" {
		password, err := a.cfg.Password.Or(a.cfg.PasswordFile) // it may have been renewed
		if err != nil {
			return fmt.Errorf("alertmanager: password_file: %w", err)
		}
		request.SetBasicAuth(a.cfg.User, password)
	}
	response, err := secret.Do(a.client, request)
	if err != nil {
		return fmt.Errorf("no answer from %s (timeout %v): %w", request.URL.Host, a.cfg.Timeout, err)
	}
	defer response.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(response.Body, 300))
	if response.StatusCode/100 == 3 {
		said = fmt.Appendf(nil, "a redirect, which is not followed: set urls to its target, %.200s", response.Header.Get("Location"))
	}
	if response.StatusCode/100 != 2 {
		return &answerError{request.URL.Host, response.Status, string(said)}
	}
	return a.checkClock(request.URL.Host, response.Header.Get("Date"))
}

// checkClock reports a member whose clock is so far ahead that alerts have already ended when they arrive.
func (a *Alertmanager) checkClock(host, date string) error {
	at, err := http.ParseTime(date)
	if ahead := time.Until(at); err == nil && ahead > (resendsAlive-1)*a.cfg.Resend {
		return fmt.Errorf("the clock of %s is %v ahead of this host's: alerts have expired when they arrive there; synchronise both by NTP", host, ahead.Round(time.Second))
	}
	return nil
}
