package alertmanager

import (
	"bytes"
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

	"github.com/giverny/giverny/feedback/record"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/tlsfile"
	"github.com/giverny/giverny/schema"
)

// TooMany is the reason for which an alert is not sent.
const TooMany = "too_many"

// Reasons lists them.
func Reasons() []string { return []string{TooMany} }

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
		slices.SortStableFunc(list, func(x, y Alert) int { return strings.Compare(rank(&x), rank(&y)) })
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

// rank sorts alerts, the most severe first.
func rank(a *Alert) string {
	return map[string]string{"high": "0", "medium": "1", "low": "2"}[a.Labels["severity"]] + a.identity()
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
		var errs []error
		for some := range slices.Chunk(alerts, batch) {
			errs = append(errs, a.post(ctx, some))
		}
		if err := errors.Join(errs...); err != nil {
			if ctx.Err() == nil {
				a.record.Failed(err, a.cfg.Resend)
			}
			return
		}
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
		if !have.resolved.IsZero() && have.settled && now.Sub(have.resolved) > keepResolved {
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

// post sends alerts to every member of the cluster; it succeeds where one takes them.
func (a *Alertmanager) post(ctx context.Context, alerts []Alert) error {
	body, err := json.Marshal(alerts)
	if err != nil {
		return fmt.Errorf("alertmanager: %w", err)
	}
	var errs []error
	for i := range a.cfg.URLs {
		errs = append(errs, a.postTo(ctx, strings.TrimSuffix(a.cfg.URLs[i].Reveal(), "/")+"/api/v2/alerts", body))
	}
	if slices.Contains(errs, nil) {
		return nil
	}
	return errors.Join(errs...)
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
		return fmt.Errorf("%s answers %s: %s", request.URL.Host, response.Status, said)
	}
	return nil
}
