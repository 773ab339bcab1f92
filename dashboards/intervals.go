package dashboards

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

type intervalJSON struct {
	Start           schema.Instant `json:"start"`
	End             schema.Instant `json:"end"`
	DurationSeconds float64        `json:"duration_seconds"`
}

// nowJSON is an interval. Links are by number in that version of the graph.
type nowJSON struct {
	Interval       intervalJSON            `json:"interval"`
	GraphVersion   read.Version            `json:"graph_version"`
	LatencySeconds float64                 `json:"latency_seconds"`
	Coverage       map[string]float64      `json:"coverage"`
	Values         map[string][]percent    `json:"values"` // by link; null where missing
	Regions        []schema.Region         `json:"regions"`
	Diagnoses      []schema.Diagnosis      `json:"diagnoses"` // of these regions
	States         []schema.NetworkState   `json:"states"`    // by metric
	Network        schema.NetworkForecast  `json:"network"`
	Congestion     *schema.CongestionEvent `json:"congestion"` // null if none is on
	Hot            []schema.HotLink        `json:"hot"`
}

// percent is a percentage with two decimals; NaN, a missing value, is null.
type percent float32

// MarshalJSON writes the short form.
func (v percent) MarshalJSON() ([]byte, error) {
	if v != v {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, math.Round(float64(v)*100)/100, 'f', -1, 64), nil
}

// now is the newest interval, or the one at the given time; nothing where there is
// none.
func (d *Dashboards) now(f *fabric, r *http.Request) (any, error) {
	least, err := parseLeast(r)
	if err != nil {
		return nil, err
	}
	at := read.Newest
	if text := r.FormValue("at"); text != "" {
		if at, err = parseTime("at", text); err != nil {
			return nil, err
		}
	}
	stored, err := d.model.StoredAt(r.Context(), f.name, at)
	if errors.Is(err, read.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	result, err := d.model.Result(r.Context(), f.name, stored)
	if err != nil {
		return nil, err
	}
	j := nowJSON{Interval: intervalJSON{schema.Instant(stored.StartNanos), schema.Instant(stored.EndNanos()), float64(stored.DurationNanos) / 1e9},
		GraphVersion: read.Version(stored.GraphVersion), LatencySeconds: stored.Latency().Seconds(), Coverage: map[string]float64{}, Values: map[string][]percent{},
		Regions: worstFirst(result.Regions, least), States: append([]schema.NetworkState{}, result.States...),
		Network: result.Network, Congestion: result.Congestion, Hot: append([]schema.HotLink{}, result.Hot...)}
	j.Diagnoses = slices.DeleteFunc(append([]schema.Diagnosis{}, result.Diagnoses...), func(d schema.Diagnosis) bool { return d.Severity < least })
	for i := range result.Snapshot.Series {
		s := &result.Snapshot.Series[i]
		values := make([]percent, len(s.Values))
		for l, v := range s.Values {
			if values[l] = percent(v); !s.Valid.Has(l) {
				values[l] = percent(math.NaN())
			}
		}
		j.Values[s.Metric.String()] = values
		j.Coverage[s.Metric.String()] = result.Snapshot.Coverage(s.Metric)
	}
	return j, nil
}

type historyJSON struct {
	States []read.NetworkAt `json:"states"`
	Events []schema.Event   `json:"events"`
}

// history is what the last intervals were like, and what happened in them.
func (d *Dashboards) history(f *fabric, r *http.Request) (any, error) {
	least, err := parseLeast(r)
	if err != nil {
		return nil, err
	}
	stored, err := d.model.LastStored(r.Context(), f.name)
	if errors.Is(err, read.ErrNotFound) {
		return historyJSON{[]read.NetworkAt{}, []schema.Event{}}, nil
	}
	if err != nil {
		return nil, err
	}
	span := read.Span{From: schema.Instant(stored.StartNanos - int64(d.cfg.History-1)*f.interval.Nanoseconds()), To: schema.Instant(stored.EndNanos())}
	states, err := d.model.Network(r.Context(), f.name, span)
	if err != nil {
		return nil, err
	}
	severe, err := d.severe(r, f, span, least)
	if err != nil {
		return nil, err
	}
	span.To = read.Newest // what happened at the end of the interval is later than it
	events, err := d.model.Events(r.Context(), f.name, span)
	events = slices.DeleteFunc(events, func(e schema.Event) bool { return e.RegionID != 0 && severe != nil && !severe[e.RegionID] })
	return historyJSON{append([]read.NetworkAt{}, states...), append([]schema.Event{}, events...)}, err
}

// parseLeast reads the severity from which on regions are asked for; without it all are.
func parseLeast(r *http.Request) (least schema.Severity, err error) {
	if text := r.FormValue("min_severity"); text != "" {
		if err = least.UnmarshalText([]byte(text)); err != nil {
			err = badRequest("min_severity: %v", err)
		}
	}
	return least, err
}

// worstFirst are the regions of a severity or a higher one, in the order of severity and then of mean.
func worstFirst(regions []schema.Region, least schema.Severity) []schema.Region {
	worst := slices.DeleteFunc(append([]schema.Region{}, regions...), func(r schema.Region) bool { return r.Severity < least })
	slices.SortStableFunc(worst, func(a, b schema.Region) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(b.Mean, a.Mean))
	})
	return worst
}

// beforeEnd is how long before the event of its end a region may have been seen last, at most.
const beforeEnd = schema.Instant(time.Hour)

// severe are the regions that were of a severity in a span or shortly before; nil if any will do.
func (d *Dashboards) severe(r *http.Request, f *fabric, span read.Span, least schema.Severity) (map[uint64]bool, error) {
	if least <= schema.Negligible {
		return nil, nil
	}
	span.From = max(0, span.From-beforeEnd)
	return d.model.SevereRegions(r.Context(), f.name, span, least)
}
