// Package prometheus reads counters that others export in the text format of Prometheus: exporters
// of SNMP, gNMI, SONiC or ethtool, a Prometheus server's /federate, or a program that prints them.
// Metrics are renamed to counters of the schema, labels to the names of devices and ports. It sends
// GET requests and runs the configured programs, and nothing else.
package prometheus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/schema"
)

// Config says what is read, and which counters its metrics are.
type Config struct {
	// What is read; each is a URL or a command.
	Targets []Target `yaml:"targets"`
	// Which metrics are which counters; all others are ignored.
	Counters []Mapping `yaml:"counters"`
}

// Target is an exporter, a Prometheus server or a program.
type Target struct {
	// URL of the metrics, such as http://gnmic:9804/metrics or http://prometheus:9090/federate?match[]=%7Bjob%3D%22snmp%22%7D.
	URL secret.URL `yaml:"url"`
	// A file with a token to send as Authorization: Bearer, read each time; empty: none.
	TokenFile string `yaml:"token_file"`
	// A program with its arguments that prints metrics, instead of a URL.
	Command []string `yaml:"command,flow"`
	// The device of all metrics; empty: that of device_label.
	Device string `yaml:"device"`
	// The label that has the name of the device, or its GUID.
	DeviceLabel string `yaml:"device_label"`
	// A regular expression; what its first group matches in device_label is the device: ^([^.:]+) drops a domain and a TCP port. Empty: all of it.
	DevicePattern string `yaml:"device_pattern"`
	// The label that has the name of the port.
	PortLabel string `yaml:"port_label"`
}

// SetDefaults sets the names of the labels.
func (t *Target) SetDefaults() { t.DeviceLabel, t.PortLabel = "device", "port" }

// Mapping is a metric that is a counter.
type Mapping struct {
	// Name of the metric.
	Metric string `yaml:"metric"`
	// Labels that it must have, with these values; empty: any.
	Labels map[string]string `yaml:"labels,flow"`
	// The counter, by its name in docs/reference/counters.md. {priority} in it is replaced with the value of that label.
	Counter string `yaml:"counter"`
	// Factor from the unit of the metric to that of the counter: 1000000 from seconds to microseconds, 0.25 from bytes to words.
	Scale float64 `yaml:"scale"`
}

// SetDefaults sets the factor.
func (m *Mapping) SetDefaults() { m.Scale = 1 }

// Kind is the entry in the registry.
func Kind() collectors.Kind {
	return collectors.Kind{
		Name:        "prometheus",
		Description: "Switches and hosts of any kind, from exporters of Prometheus or programs; enable it on one host.",
		Workers:     8,
		NewConfig:   func() collectors.SourceConfig { return &Config{} },
	}
}

// Validate joins all errors. There may be no targets while the source is disabled.
func (c *Config) Validate() error {
	var f faults.List
	for i := range c.Targets {
		f.Under(fmt.Sprintf("targets[%d]", i), c.Targets[i].validate())
	}
	for i := range c.Counters {
		f.Under(fmt.Sprintf("counters[%d]", i), c.Counters[i].validate())
	}
	f.Check(len(c.Targets) == 0 || len(c.Counters) > 0, "counters", "empty; say which metrics are which counters")
	return f.Err()
}

func (t *Target) validate() error {
	var f faults.List
	u, err := url.Parse(t.URL.Reveal())
	switch {
	case t.URL.IsEmpty() == (len(t.Command) == 0):
		f.Check(false, "url", "want either a URL or a command")
	case !t.URL.IsEmpty():
		f.Check(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "", "url", "%q: want http://host:port/metrics or https://", t.URL)
	}
	f.Check(t.Device != "" || t.DeviceLabel != "", "device_label", "empty; name the label, or the device itself in device")
	f.Check(t.PortLabel != "", "port_label", "empty; name the label that has the port")
	if pattern, err := regexp.Compile(t.DevicePattern); err != nil {
		f.Check(false, "device_pattern", "%w", err)
	} else {
		f.Check(t.DevicePattern == "" || pattern.NumSubexp() >= 1, "device_pattern", "%q: it has no group; put the part that is the device into parentheses", t.DevicePattern)
	}
	return f.Err()
}

// placeholder is a label whose value is part of a counter's name.
var placeholder = regexp.MustCompile(`\{([^{}]+)\}`)

func (m *Mapping) validate() error {
	var f faults.List
	f.Check(m.Metric != "", "metric", "empty; name a metric")
	_, known := schema.LookupCounter(m.Counter)
	f.Check(known || placeholder.MatchString(m.Counter), "counter", "%q: no such counter; docs/reference/counters.md lists them", m.Counter)
	f.Check(m.Scale > 0 && !math.IsInf(m.Scale, 0), "scale", "%g: want more than 0", m.Scale)
	return f.Err()
}

// Open creates the collector. Nothing is read yet.
func (c *Config) Open(string) (collectors.Collector, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	mappings := map[string][]Mapping{}
	for _, m := range c.Counters {
		mappings[m.Metric] = append(mappings[m.Metric], m)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true // one request per interval, and no connection left at the end
	client := &http.Client{Transport: transport, CheckRedirect: secret.SameHost}
	list := &Collector{}
	for i, t := range c.Targets {
		name := cmp.Or(t.Device, t.URL.String(), strings.Join(t.Command, " "))
		if slices.ContainsFunc(list.targets, func(d collectors.Device) bool { return d.Name() == name }) {
			name = fmt.Sprintf("%s (targets[%d])", name, i)
		}
		list.targets = append(list.targets, &target{
			name: name, cfg: t, mappings: mappings, metrics: slices.Sorted(maps.Keys(mappings)),
			pattern: regexp.MustCompile(t.DevicePattern), client: client,
		})
	}
	return list, nil
}

// Collector lists the targets.
type Collector struct{ targets []collectors.Device }

// Name returns "prometheus".
func (c *Collector) Name() string { return "prometheus" }

// Epoch is 0: resets of devices cannot be detected.
func (c *Collector) Epoch() uint64 { return 0 }

// Devices lists the targets.
func (c *Collector) Devices(context.Context) ([]collectors.Device, error) {
	if len(c.targets) == 0 {
		return nil, errors.New("targets: none; name a URL or a command")
	}
	return c.targets, nil
}
