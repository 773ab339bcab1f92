package dashboards

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

var (
	errUnknownFabric = errors.New("unknown fabric; GET /api/v1/fabrics lists them")
	errNothingYet    = errors.New("no interval is stored yet")
)

// answer turns a handler's value into JSON, compressed where the client takes
// it, and its error into a status.
func (d *Dashboards) answer(endpoint string, h func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		value, err := h(r)
		status := http.StatusOK
		switch {
		case errors.Is(err, errUnknownFabric), errors.Is(err, errNothingYet):
			status = http.StatusNotFound
		case errors.Is(err, errRequest):
			status = http.StatusBadRequest
		case err != nil:
			status = http.StatusBadGateway // the store is behind every other failure
			d.log.Warn("request failed", "endpoint", endpoint, "error", err)
		}
		d.metrics.requests.WithLabelValues(endpoint, strconv.Itoa(status)).Inc()
		if err != nil {
			http.Error(w, err.Error(), status)
		} else {
			writeJSON(w, r, value)
		}
		d.metrics.seconds.WithLabelValues(endpoint).Observe(time.Since(began).Seconds())
	}
}

func writeJSON(w http.ResponseWriter, r *http.Request, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Vary", "Accept-Encoding")
	var out io.Writer = w
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		defer z.Close()
		out = z
	}
	json.NewEncoder(out).Encode(value) // an error here means that the client left
}

type fabricJSON struct {
	Name            string  `json:"name"`
	GraphVersion    string  `json:"graph_version"`
	Dims            []int   `json:"dims,omitempty"`
	Wrap            bool    `json:"wrap,omitempty"`
	Links           int     `json:"links"`
	Switches        int     `json:"switches"`
	Hosts           int     `json:"hosts"`
	IntervalSeconds float64 `json:"interval_seconds"`
}

func (d *Dashboards) listFabrics(*http.Request) (any, error) {
	list := []fabricJSON{}
	for _, name := range d.order {
		f := d.fabrics[name]
		j := fabricJSON{Name: name, GraphVersion: fmt.Sprintf("%016x", f.Graph.Version()), Links: f.Graph.NumLinks(), IntervalSeconds: f.Interval.Seconds()}
		if grid := f.Graph.Grid(); grid != nil {
			j.Dims, j.Wrap = grid.Dims, grid.Wrap
		}
		for id := range topology.DeviceID(f.Graph.NumDevices()) {
			if f.Graph.IsSwitch(id) {
				j.Switches++
			} else {
				j.Hosts++
			}
		}
		list = append(list, j)
	}
	return list, nil
}

type deviceJSON struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Level int8   `json:"level"`
	Group int32  `json:"group"`
	Coord []int  `json:"coord,omitempty"`
}

// linksJSON is the graph by columns: element i of each is link i.
type linksJSON struct {
	Devices  []deviceJSON        `json:"devices"`
	Duplex   bool                `json:"duplex"`
	From     []topology.DeviceID `json:"from"`
	To       []topology.DeviceID `json:"to"`
	FromPort []string            `json:"from_port"`
	ToPort   []string            `json:"to_port"`
	Dim      []int8              `json:"dim"`
}

func (d *Dashboards) listLinks(r *http.Request) (any, error) {
	f, ok := d.fabrics[r.PathValue("fabric")]
	if !ok {
		return nil, errUnknownFabric
	}
	g := f.Graph
	j := linksJSON{Duplex: g.Duplex(), Devices: make([]deviceJSON, g.NumDevices())}
	for i := range j.Devices {
		dev := g.Device(topology.DeviceID(i))
		j.Devices[i] = deviceJSON{dev.Name, dev.Kind.String(), dev.Level, dev.Group, dev.Coord}
	}
	for id := range schema.LinkID(g.NumLinks()) {
		l := g.Link(id)
		j.From, j.To = append(j.From, l.From), append(j.To, l.To)
		j.FromPort, j.ToPort = append(j.FromPort, l.FromPort), append(j.ToPort, l.ToPort)
		j.Dim = append(j.Dim, l.Dim)
	}
	return j, nil
}

type intervalJSON struct {
	StartNanos    int64 `json:"start_nanos"`
	DurationNanos int64 `json:"duration_nanos"`
}

type nowJSON struct {
	Interval       intervalJSON             `json:"interval"`
	LatencySeconds float64                  `json:"latency_seconds"`
	Coverage       map[string]float64       `json:"coverage"`
	Values         map[string][]stallNumber `json:"values"` // by link; null where missing
	Regions        []schema.Region          `json:"regions"`
	Network        schema.NetworkForecast   `json:"network"`
	Congestion     *schema.CongestionEvent  `json:"congestion"` // null if none is on
	Hot            []schema.HotLink         `json:"hot"`
}

// stallNumber is a percentage with two decimals; NaN, a missing value, is null.
type stallNumber float32

// MarshalJSON writes the short form.
func (v stallNumber) MarshalJSON() ([]byte, error) {
	if v != v {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, math.Round(float64(v)*100)/100, 'f', -1, 64), nil
}

func (d *Dashboards) now(r *http.Request) (any, error) {
	name, ctx := r.PathValue("fabric"), r.Context()
	f, ok := d.fabrics[name]
	if !ok {
		return nil, errUnknownFabric
	}
	stored, ok, err := d.records.Latest(ctx, name)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errNothingYet
	}
	snap, err := d.records.Snapshot(ctx, name, stored.Interval.StartNanos)
	if err != nil {
		return nil, err
	}
	regions, err := d.records.Regions(ctx, name, stored.Interval.StartNanos)
	if err != nil {
		return nil, err
	}
	tracked, err := d.records.Tracking(ctx, name, stored.Interval.StartNanos)
	if err != nil {
		return nil, err
	}
	for i := range regions {
		tracked.Network.Severity = max(tracked.Network.Severity, regions[i].Severity)
	}
	j := nowJSON{Interval: intervalJSON{stored.Interval.StartNanos, stored.Interval.DurationNanos}, LatencySeconds: stored.LatencySeconds,
		Coverage: map[string]float64{}, Values: map[string][]stallNumber{}, Regions: append([]schema.Region{}, regions...),
		Network: tracked.Network, Congestion: tracked.Congestion, Hot: append([]schema.HotLink{}, tracked.Hot...)}
	for i := range snap.Series {
		s := &snap.Series[i]
		if !s.Metric.IsStall() {
			continue
		}
		values := make([]stallNumber, f.Graph.NumLinks())
		for l := range values {
			values[l] = stallNumber(math.NaN())
			if l < len(s.Values) && s.Valid.Has(l) {
				values[l] = stallNumber(s.Values[l])
			}
		}
		j.Values[s.Metric.String()] = values
		j.Coverage[s.Metric.String()] = float64(s.Count) / float64(f.Graph.NumLinks())
	}
	return j, nil
}

type stateJSON struct {
	StartNanos int64           `json:"start_nanos"`
	State      schema.Severity `json:"state"`
	Low        int             `json:"low"`
	Medium     int             `json:"medium"`
	High       int             `json:"high"`
}

type eventJSON struct {
	TimeNanos int64            `json:"time_nanos"`
	Kind      schema.EventKind `json:"kind"`
	Device    string           `json:"device,omitempty"`
	Port      string           `json:"port,omitempty"`
	RegionID  uint64           `json:"region_id,omitempty"`
	JobID     string           `json:"job_id,omitempty"`
	Detail    string           `json:"detail,omitempty"`
}

type historyJSON struct {
	States []stateJSON `json:"states"`
	Events []eventJSON `json:"events"`
}

func (d *Dashboards) history(r *http.Request) (any, error) {
	name, ctx := r.PathValue("fabric"), r.Context()
	f, ok := d.fabrics[name]
	if !ok {
		return nil, errUnknownFabric
	}
	stored, ok, err := d.records.Latest(ctx, name)
	if err != nil || !ok {
		return historyJSON{[]stateJSON{}, []eventJSON{}}, err
	}
	from := stored.Interval.StartNanos - int64(d.cfg.History-1)*f.Interval.Nanoseconds()
	states, err := d.records.States(ctx, name, from)
	if err != nil {
		return nil, err
	}
	events, err := d.records.Events(ctx, name, from)
	if err != nil {
		return nil, err
	}
	j := historyJSON{make([]stateJSON, len(states)), make([]eventJSON, len(events))}
	for i, s := range states {
		j.States[i] = stateJSON(s)
	}
	for i, e := range events {
		j.Events[i] = eventJSON{e.TimeNanos, e.Kind, e.Device, e.Port, e.RegionID, e.JobID, e.Detail}
	}
	return j, nil
}

// stream announces each interval as a server-sent event until the client or the
// server leaves.
func (d *Dashboards) stream(w http.ResponseWriter, r *http.Request) {
	flush, ok := w.(http.Flusher)
	if !ok {
		http.Error(w, "this connection cannot stream", http.StatusNotImplemented)
		return
	}
	l := make(chan announcement, 8)
	d.mu.Lock()
	d.listeners[l] = struct{}{}
	d.mu.Unlock()
	d.metrics.listeners.Inc()
	defer func() {
		d.mu.Lock()
		delete(d.listeners, l)
		d.mu.Unlock()
		d.metrics.listeners.Dec()
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	fmt.Fprint(w, ": hello\n\n")
	flush.Flush()
	keepalive := time.NewTicker(15 * time.Second)
	defer keepalive.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-keepalive.C:
			fmt.Fprint(w, ": still here\n\n")
		case a := <-l:
			line, _ := json.Marshal(a) // two plain fields
			fmt.Fprintf(w, "event: interval\ndata: %s\n\n", line)
		}
		flush.Flush()
	}
}
