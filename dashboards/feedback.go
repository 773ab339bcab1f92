package dashboards

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/giverny/giverny/feedback/score"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// nodeScores is the answer of feedback/nodes: the scores, and what of them was asked for.
type nodeScores struct {
	*score.Set
	// AgeSeconds since the end of the interval; null where none is stored.
	AgeSeconds *float64 `json:"age_seconds"`
	Live       bool     `json:"live"` // the state of the network is known, and of now
}

// longestWait bounds ?wait, and waitStep how often the store is asked during one.
const (
	longestWait = 5 * time.Minute
	waitStep    = 500 * time.Millisecond
)

// feedbackNodes answers GET fabrics/{fabric}/feedback/nodes: it knows ETags, and with
// ?wait waits for scores that the client does not have.
func (d *Dashboards) feedbackNodes(w http.ResponseWriter, r *http.Request) {
	const endpoint = "fabrics/{fabric}/feedback/nodes"
	d.jsonHandler(endpoint, func(r *http.Request) (any, error) {
		f, err := d.fabricOf(r)
		if err != nil {
			return nil, err
		}
		wait, least, err := scoreParameters(r)
		if err != nil {
			return nil, err
		}
		until := time.Now().Add(wait)
		for {
			set, err := d.scoresOf(r.Context(), f)
			if err != nil {
				return nil, err
			}
			set.Nodes = atLeast(set.Nodes, least)
			tag, err := etagOf(set)
			if err != nil {
				return nil, err
			}
			w.Header().Set("ETag", tag)
			if !matches(r.Header.Get("If-None-Match"), tag) {
				return d.withAge(f, set, time.Now()), nil
			}
			if left := time.Until(until); left <= 0 || !d.awaitInterval(r.Context(), min(left, waitStep)) {
				return notModified{}, nil
			}
		}
	})(w, r)
}

// notModified is the answer that the client has what there is.
type notModified struct{}

// scoreParameters reads ?wait=30s and ?min=1.
func scoreParameters(r *http.Request) (wait time.Duration, least float64, err error) {
	least = 0
	if text := r.URL.Query().Get("wait"); text != "" {
		if wait, err = time.ParseDuration(text); err != nil || wait < 0 || wait > longestWait {
			return 0, 0, badRequest("wait %q: want a duration of 0s to %v, such as 30s", text, longestWait)
		}
	}
	if text := r.URL.Query().Get("min"); text != "" {
		if least, err = strconv.ParseFloat(text, 64); err != nil || !(least >= 0 && least <= 100) {
			return 0, 0, badRequest("min %q: want a score of 0 to 100", text)
		}
	}
	return wait, least, nil
}

// scoresOf scores the nodes of a fabric by its newest interval.
func (d *Dashboards) scoresOf(ctx context.Context, f *fabric) (*score.Set, error) {
	none := &score.Set{Fabric: f.name, Nodes: []score.Node{}, Hosts: len(d.graphInForce(f).Hosts())}
	stored, err := d.model.LastStored(ctx, f.name)
	if errors.Is(err, read.ErrNotFound) {
		none.Unknown = &schema.Unknown{Reason: schema.NoInterval, Detail: "nothing is stored yet"}
		return none, nil
	}
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	last, watch := f.scored, f.watch
	d.mu.Unlock()
	set := last.set
	id := scoredInterval{stored.StartNanos, stored.StoredAtNanos, stored.GraphVersion, stored.Revision}
	if set == nil || last.id != id {
		g, err := d.graph(ctx, f, read.Version(stored.GraphVersion))
		if err != nil {
			return nil, err
		}
		result, err := d.model.Result(ctx, f.name, stored)
		if err != nil {
			return nil, err
		}
		set = score.Of(g, result, d.scores)
		d.mu.Lock()
		f.scored = scored{id, set}
		d.mu.Unlock()
	}
	now := *set
	if watch != nil {
		if state := watch(); state.Unknown != nil { // it knows of silence before an interval does
			now.Unknown = state.Unknown
		}
	}
	if overdue := max(overdueIntervals*f.interval, minOverdue); now.Unknown == nil && time.Since(now.End.Time()) > overdue {
		now.Unknown = &schema.Unknown{Reason: schema.NoInterval, Since: now.End, Detail: fmt.Sprintf("no interval stored for more than %v", overdue)}
	}
	return &now, nil
}

// scored is the scores of an interval, kept for the next who asks.
type scored struct {
	id  scoredInterval
	set *score.Set
}

// scoredInterval is one as it was stored once.
type scoredInterval struct {
	startNanos, storedAtNanos int64
	version                   uint64
	revision                  uint32
}

func (d *Dashboards) withAge(f *fabric, set *score.Set, now time.Time) nodeScores {
	out := nodeScores{Set: set, Live: set.Unknown == nil}
	if !set.End.IsZero() {
		seconds := now.Sub(set.End.Time()).Seconds()
		out.AgeSeconds = &seconds
	}
	return out
}

// atLeast keeps the nodes of a score or above; the highest come first.
func atLeast(nodes []score.Node, least float64) []score.Node {
	for i := range nodes {
		if nodes[i].Score < least {
			return nodes[:i]
		}
	}
	return nodes
}

// etagBytes is how much of the hash an ETag is.
const etagBytes = 12

// etagOf is the entity tag of scores: another for each interval, and where the state
// of the network becomes unknown or known.
func etagOf(set *score.Set) (string, error) {
	content := *set
	if content.Unknown != nil { // how long it has been so is no news
		content.Unknown = &schema.Unknown{Reason: content.Unknown.Reason}
	}
	text, err := json.Marshal(&content)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:etagBytes]) + `"`, nil
}

// matches says whether If-None-Match names the tag (RFC 9110, section 13.1.2: the weak
// comparison).
func matches(header, tag string) bool {
	for candidate := range strings.SplitSeq(header, ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag {
			return true
		}
	}
	return false
}

// awaitInterval waits for the next announcement of an interval, no longer than most;
// false says that the client left. Intervals of other processes are not announced at
// once, and silence never is: most bounds how late they are noticed.
func (d *Dashboards) awaitInterval(ctx context.Context, most time.Duration) bool {
	l := make(chan announcement, 1)
	d.mu.Lock()
	d.listeners[l] = struct{}{}
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.listeners, l)
		d.mu.Unlock()
	}()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-l:
	case <-timer.C:
	}
	return true
}

// feedbackActions is the audit of feedback in a span.
func (d *Dashboards) feedbackActions(q question) (fields, error) {
	list, err := d.model.Feedback(q.ctx, q.fabric.name, q.span)
	return fields{"actions": append([]schema.FeedbackAction{}, list...)}, err
}
