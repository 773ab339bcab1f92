// Package registry lists the kinds of sources that an agent can poll, and opens the
// enabled ones from their configuration sections. A new collector is a package and a
// line in Kinds.
package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/collectors/ethtool"
	"github.com/giverny/giverny/collectors/ibsysfs"
	"github.com/giverny/giverny/collectors/perfquery"
	"github.com/giverny/giverny/collectors/prometheus"
	"github.com/giverny/giverny/internal/faults"
)

// Kinds lists the sources.
func Kinds() []collectors.Kind {
	return []collectors.Kind{
		ibsysfs.Kind(),
		ethtool.Kind(),
		perfquery.Kind(),
		prometheus.Kind(),
	}
}

// Names lists the sources' names, joined: "ibsysfs, ethtool or perfquery".
func Names() string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, k.Name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Source is the section of one source.
type Source struct {
	// Read this source.
	Enabled bool `yaml:"enabled"`
	// How many of its devices are read in parallel.
	Workers int `yaml:"workers"`

	collectors.SourceConfig `yaml:",inline"`

	description string
}

// Description says what the source reads.
func (s *Source) Description() string { return s.description }

// Sources are the sections of all sources, by name.
type Sources map[string]*Source

// DefaultConfig is every source with its defaults, all disabled.
func DefaultConfig() Sources {
	sources := Sources{}
	for _, k := range Kinds() {
		sources[k.Name] = &Source{Workers: k.Workers, SourceConfig: k.NewConfig(), description: k.Description}
	}
	return sources
}

// Validate joins all errors, including those of disabled sources.
func (s Sources) Validate() error {
	var f faults.List
	for _, name := range slices.Sorted(maps.Keys(s)) {
		source := s[name]
		f.Check(source.Workers >= 1 && source.Workers <= collectors.MaxWorkers, name+".workers", "%d: want 1 to %d", source.Workers, collectors.MaxWorkers)
		f.Under(name, source.SourceConfig.Validate())
	}
	return f.Err()
}

// Enable enables a source by name.
func (s Sources) Enable(name string) error {
	source := s[name]
	if source == nil {
		return fmt.Errorf("source %q: want %s", name, Names())
	}
	source.Enabled = true
	return nil
}

// Enabled reports whether any source is.
func (s Sources) Enabled() bool {
	for _, source := range s {
		if source.Enabled {
			return true
		}
	}
	return false
}

// Opened is a source with its polling configuration.
type Opened struct {
	Collector collectors.Collector
	Config    collectors.Config
}

// ErrNone means that no source is enabled, and says what to do.
func ErrNone() error {
	return fmt.Errorf("no source is enabled: set enabled: true for %s under collect, or name one with --source", Names())
}

// Open creates the enabled sources for the host of this name, in the order of Kinds.
// Nothing is read yet.
func (s Sources) Open(host string, polling collectors.Config) ([]Opened, error) {
	var list []Opened
	for _, k := range Kinds() {
		source := s[k.Name]
		if source == nil || !source.Enabled {
			continue
		}
		c, err := source.Open(host)
		if err != nil {
			return nil, faults.At("collect", faults.At(k.Name, err))
		}
		polling.Workers = source.Workers
		list = append(list, Opened{c, polling})
	}
	return list, nil
}
