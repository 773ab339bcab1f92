package dashboards

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/dashboards/operation"
	"github.com/giverny/giverny/internal/access"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/internal/problem"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// eventStream is the media type of server-sent events.
const eventStream = "text/event-stream"

// document is the OpenAPI document.
func (d *Dashboards) document(w http.ResponseWriter, r *http.Request, _ *documentParameters) error {
	operation.WriteJSON(w, r, document)
	return nil
}

type documentParameters struct{ operation.Conditional }

// session is the client's identity.
type session struct {
	Name string `json:"name"`
	Role string `json:"role"` // viewer, operator or admin
	By   string `json:"by"`   // loopback, insecure, token, session, proxy or certificate
}

func (d *Dashboards) session(ctx context.Context, _ *nothing) (*session, error) {
	who := access.Of(ctx)
	return &session{who.Name, who.Role.String(), who.By}, nil
}

type streamParameters struct {
	LastEventID string   `header:"Last-Event-ID" doc:"Id of the last event that the client received."`
	Fabrics     []string `query:"fabrics" doc:"Only intervals of these fabrics, separated by commas; default: all."`
}

const (
	streamBuffer   = 8                // announcements that can wait for a slow client
	maxReplay      = 1000             // intervals of a fabric replayed to a client that reconnects
	streamPatience = 30 * time.Second // write timeout for a client that stops reading
	retryMillis    = 2000             // after which a browser reconnects
)

// stream announces each interval as a server-sent event until the client or the
// server disconnects.
func (d *Dashboards) stream(w http.ResponseWriter, r *http.Request, p *streamParameters) error {
	for _, name := range p.Fabrics {
		if _, err := d.fabricOf(name); err != nil {
			return err
		}
	}
	leave, err := d.streams.enter(r)
	if err != nil {
		return err
	}
	defer leave()
	l, done := d.intervals.listen(streamBuffer)
	defer done()
	d.metrics.listeners.Inc()
	defer d.metrics.listeners.Dec()
	f := &follower{d: d, w: w, flush: http.NewResponseController(w), only: p.Fabrics}
	w.Header().Set("Content-Type", eventStream)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")   // nginx would buffer events
	_ = f.follow(r.Context(), l, p.LastEventID) // an error means that the client has left
	return nil
}

// streamLimit limits the open streams, those of one client and all.
type streamLimit struct {
	most, mostPerClient int
	refused             *prometheus.CounterVec

	mu   sync.Mutex     // guards open
	open map[string]int // by client
}

func newStreamLimit(cfg *Config, refused *prometheus.CounterVec) *streamLimit {
	return &streamLimit{most: cfg.Streams, mostPerClient: cfg.StreamsPerClient, refused: refused, open: map[string]int{}}
}

// enter counts a stream, or rejects it.
func (s *streamLimit) enter(r *http.Request) (leave func(), err error) {
	who := access.Of(r.Context())
	client := who.By + " " + who.Name
	s.mu.Lock()
	defer s.mu.Unlock()
	all := 0
	for _, n := range s.open {
		all += n
	}
	var p *problem.Problem
	var reason string
	switch {
	case all >= s.most:
		reason = tooManyStreams
		p = problem.New(http.StatusServiceUnavailable, "%s connected already; retry later, or raise dashboards.streams", plural.Count(all, "client is", "clients are"))
	case s.open[client] >= s.mostPerClient:
		reason = tooManyOfClient
		p = problem.New(http.StatusTooManyRequests, "this client has %s open already; close one, or raise dashboards.streams_per_client", plural.Count(s.open[client], "stream", "streams"))
	default:
		s.open[client]++
		return func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.open[client]--; s.open[client] == 0 {
				delete(s.open, client)
			}
		}, nil
	}
	s.refused.WithLabelValues(reason).Inc()
	p.RetryAfter = retryMillis * time.Millisecond
	return nil, p
}

// follower is one stream.
type follower struct {
	d     *Dashboards
	w     http.ResponseWriter
	flush *http.ResponseController
	only  []string
	at    positions
}

// positions are the starts of the last intervals that a client has, by fabric. Their text form is the id of an event.
type positions map[string]schema.Instant

func (p positions) String() string {
	names := make([]string, 0, len(p))
	for name, start := range p {
		names = append(names, url.QueryEscape(name)+"="+strconv.FormatInt(int64(start), 10))
	}
	slices.Sort(names)
	return strings.Join(names, "&")
}

// parsePositions parses an event id; false if it is invalid.
func parsePositions(id string) (positions, bool) {
	values, err := url.ParseQuery(id)
	if err != nil {
		return nil, false
	}
	p := positions{}
	for name, v := range values {
		start, err := strconv.ParseInt(v[0], 10, 64)
		if err != nil || start < 0 || start > int64(read.Newest) {
			return nil, false
		}
		p[name] = schema.Instant(start)
	}
	return p, true
}

func (f *follower) wants(fabric string) bool {
	return len(f.only) == 0 || slices.Contains(f.only, fabric)
}

// follow writes the events until ctx ends, which is no error, or the connection fails.
func (f *follower) follow(ctx context.Context, l *listener, lastID string) error {
	f.at = f.d.intervals.newest()
	if err := f.write(fmt.Sprintf(": hello\nretry: %d\n", retryMillis)); err != nil {
		return err
	}
	if lastID != "" {
		had, known := parsePositions(lastID)
		if err := f.resume(ctx, had, known); err != nil {
			return err
		}
	} else if err := f.write("id: " + f.at.String() + "\n"); err != nil {
		return err
	}
	heartbeat := time.NewTicker(f.d.cfg.Heartbeat)
	defer heartbeat.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-heartbeat.C:
			err = f.write(": still here\n")
		case a := <-l.announced:
			if l.behind.Swap(false) {
				err = f.catchUp(ctx)
			} else {
				err = f.announce(a)
			}
		}
		if err != nil {
			return err
		}
	}
}

// resume sends a client what it has missed since the intervals that it had, or the event reset if that is not
// possible.
func (f *follower) resume(ctx context.Context, had positions, known bool) error {
	if !known {
		return f.reset()
	}
	for name, start := range had {
		if f.d.fabrics[name] == nil || !f.wants(name) {
			continue
		}
		f.at[name] = start
		missed, err := f.d.since(ctx, name, start)
		if err != nil || len(missed) > maxReplay {
			return f.reset()
		}
		for _, a := range missed {
			if err := f.announce(a); err != nil {
				return err
			}
		}
	}
	return nil
}

// catchUp sends a slow client the announcements that it missed.
func (f *follower) catchUp(ctx context.Context) error {
	for name := range f.d.intervals.newest() {
		if _, has := f.at[name]; !has && f.wants(name) {
			return f.reset() // for a fabric of which it had nothing, any number may be missing
		}
	}
	return f.resume(ctx, f.at, true)
}

// reset tells the client to read everything again.
func (f *follower) reset() error {
	f.at = f.d.intervals.newest()
	return f.write("event: reset\nid: " + f.at.String() + "\ndata: {}\n")
}

// since returns a fabric's stored intervals after start, with their diagnoses; maxReplay+1 empty ones if there may be
// that many.
func (d *Dashboards) since(ctx context.Context, fabric string, start schema.Instant) ([]announcement, error) {
	span := read.Span{From: start + 1, To: read.Newest}
	newest, err := d.model.LastStored(ctx, fabric)
	if errors.Is(err, read.ErrNotFound) {
		return nil, nil
	}
	if err != nil || newest.StartNanos-int64(start) > maxReplay*d.fabrics[fabric].interval.Nanoseconds() {
		return make([]announcement, maxReplay+1), err
	}
	stored, err := d.model.Intervals(ctx, fabric, span)
	if err != nil || len(stored) == 0 {
		return nil, err
	}
	diagnoses, err := d.model.Diagnoses(ctx, fabric, span, 0)
	list := make([]announcement, len(stored))
	for i, s := range stored {
		list[i] = announcement{Fabric: fabric, Start: schema.Instant(s.StartNanos)}
		for _, one := range diagnoses {
			if one.Time == list[i].Start {
				list[i].Diagnoses = append(list[i].Diagnoses, one)
			}
		}
	}
	return list, err
}

// announce sends an interval that the client does not have.
func (f *follower) announce(a announcement) error {
	if !f.wants(a.Fabric) || a.Start <= f.at[a.Fabric] && f.at[a.Fabric] != 0 {
		return nil
	}
	f.at[a.Fabric] = a.Start
	line, err := json.Marshal(a)
	if err != nil { // a diagnosis has a number that JSON cannot encode: announce the interval without diagnoses
		line, _ = json.Marshal(announcement{Fabric: a.Fabric, Start: a.Start})
	}
	return f.write(fmt.Sprintf("event: interval\nid: %s\ndata: %s\n", f.at, line))
}

// write sends lines and a terminating empty line, with a write deadline.
func (f *follower) write(lines string) error {
	_ = f.flush.SetWriteDeadline(time.Now().Add(streamPatience)) // unsupported by the ResponseWriters of some tests
	if _, err := f.w.Write([]byte(lines + "\n")); err != nil {
		return err
	}
	return f.flush.Flush()
}
