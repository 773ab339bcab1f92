package prometheus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	client "github.com/prometheus/client_model/go"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/internal/bounded"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/schema"
)

// target is one URL or program.
type target struct {
	name     string
	cfg      Target
	mappings map[string][]Mapping // by metric
	metrics  []string             // those of mappings, in order
	pattern  *regexp.Regexp
	client   *http.Client
}

// Name of the target: its device, URL or command.
func (t *target) Name() string { return t.name }

// Read asks the target for its metrics and adds a row for each port and time.
func (t *target) Read(ctx context.Context, r *collectors.Reading) error {
	var families map[string]*client.MetricFamily
	var broken []error
	parse := func(text io.Reader) (err error) {
		families, broken, err = parseLines(text)
		return err
	}
	err := t.fetch(ctx, parse)
	now := time.Now().UnixNano()
	if err != nil {
		return err
	}
	for _, err := range broken {
		r.Unreadable(err)
	}
	rows := t.rows(families, now, r)
	for _, at := range slices.SortedFunc(maps.Keys(rows), compare) {
		counters := rows[at]
		key := schema.KeyCounter(counters) // a port may have rows of several targets and times
		r.RowAt("prometheus "+key, at.port, at.nanos)
		if key != "" {
			r.Put(key, counters[key])
			delete(counters, key)
		}
		for _, counter := range slices.Sorted(maps.Keys(counters)) {
			r.Put(counter, counters[counter])
		}
	}
	return nil
}

func (t *target) fetch(ctx context.Context, parse func(io.Reader) error) error {
	if len(t.cfg.Command) > 0 {
		return feeds.Run(ctx, t.cfg.Command, nil, parse)
	}
	request, err := secret.NewRequest(ctx, http.MethodGet, t.cfg.URL.Reveal(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "text/plain;version=0.0.4")
	if t.cfg.TokenFile != "" {
		token, err := secret.Text{}.Or(t.cfg.TokenFile)
		if err != nil {
			return fmt.Errorf("token_file: %w", err)
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
	}
	answer, err := secret.Do(t.client, request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: status %s", t.cfg.URL, answer.Status)
	}
	return parse(bounded.Reader(answer.Body, feeds.MaxOutput))
}

// instant is what a row is about.
type instant struct {
	port  schema.PortName
	nanos int64
}

func compare(a, b instant) int {
	return cmp.Or(strings.Compare(a.port.Device, b.port.Device), strings.Compare(a.port.Port, b.port.Port), cmp.Compare(a.nanos, b.nanos))
}

// rows groups the samples that are counters by port and time. What cannot be used is reported to r.
func (t *target) rows(families map[string]*client.MetricFamily, now int64, r *collectors.Reading) map[instant]map[string]uint64 {
	rows := map[instant]map[string]uint64{}
	for _, name := range t.metrics {
		for _, metric := range families[name].GetMetric() {
			labels := map[string]string{}
			for _, pair := range metric.GetLabel() {
				labels[pair.GetName()] = pair.GetValue()
			}
			mapping := t.mappingOf(name, labels)
			if mapping == nil {
				continue
			}
			at := instant{nanos: cmp.Or(metric.GetTimestampMs()*int64(time.Millisecond), now)}
			counter, value, err := mapping.reading(metric, labels)
			if err == nil {
				at.port, err = t.portOf(labels)
			}
			if _, twice := rows[at][counter]; err == nil && twice {
				err = fmt.Errorf("port %q of %q has two values of %s at one time; tell its metrics apart by labels", at.port.Port, at.port.Device, counter)
			}
			if err != nil {
				r.Unreadable(fmt.Errorf("metric %s: %w: %w", name, collectors.ErrMalformed, err))
				continue
			}
			if rows[at] == nil {
				rows[at] = map[string]uint64{}
			}
			rows[at][counter] = value
		}
	}
	switch {
	case len(families) == 0:
		r.Unreadable(fmt.Errorf("%w: it has no metrics", collectors.ErrMalformed))
	case len(rows) == 0:
		r.Unreadable(fmt.Errorf("%w: none of its %d metrics is in counters, such as %s", collectors.ErrMalformed, len(families), strings.Join(t.metrics[:min(3, len(t.metrics))], ", ")))
	}
	return rows
}

// mappingOf returns the first mapping of a metric whose labels match, or nil.
func (t *target) mappingOf(name string, labels map[string]string) *Mapping {
	for i := range t.mappings[name] {
		m := &t.mappings[name][i]
		if !slices.ContainsFunc(slices.Collect(maps.Keys(m.Labels)), func(l string) bool { return labels[l] != m.Labels[l] }) {
			return m
		}
	}
	return nil
}

// portOf returns the port that a metric is about.
func (t *target) portOf(labels map[string]string) (port schema.PortName, err error) {
	missing := func(label string) error {
		return fmt.Errorf("no label %q; its labels are %s", label, strings.Join(slices.Sorted(maps.Keys(labels)), ", "))
	}
	port = schema.PortName{Device: cmp.Or(t.cfg.Device, labels[t.cfg.DeviceLabel]), Port: labels[t.cfg.PortLabel]}
	switch {
	case port.Device == "":
		return port, missing(t.cfg.DeviceLabel)
	case port.Port == "":
		return port, missing(t.cfg.PortLabel)
	case t.cfg.Device != "" || t.cfg.DevicePattern == "":
		return port, nil
	}
	groups := t.pattern.FindStringSubmatch(port.Device)
	if len(groups) < 2 || groups[1] == "" {
		return port, fmt.Errorf("label %s=%q does not match device_pattern %q", t.cfg.DeviceLabel, port.Device, t.cfg.DevicePattern)
	}
	port.Device = groups[1]
	return port, nil
}

// reading returns the counter and its value in the counter's unit.
func (m *Mapping) reading(metric *client.Metric, labels map[string]string) (counter string, value uint64, err error) {
	counter = placeholder.ReplaceAllStringFunc(m.Counter, func(label string) string { return labels[strings.Trim(label, "{}")] })
	if _, known := schema.LookupCounter(counter); !known {
		return counter, 0, fmt.Errorf("counter %q, of %q, is not in docs/reference/counters.md", counter, m.Counter)
	}
	var v float64
	switch {
	case metric.Counter != nil:
		v = metric.Counter.GetValue()
	case metric.Gauge != nil:
		v = metric.Gauge.GetValue()
	case metric.Untyped != nil:
		v = metric.Untyped.GetValue()
	default:
		return counter, 0, errors.New("it is a histogram or a summary; want a counter or a gauge")
	}
	scaled := math.Round(v * m.Scale)
	if !(scaled >= 0 && scaled < math.MaxUint64) {
		return counter, 0, fmt.Errorf("value %g, times %g, is no reading of a counter", v, m.Scale)
	}
	return counter, uint64(scaled), nil
}
