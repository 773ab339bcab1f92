package registry

import (
	"fmt"
	"maps"
	"slices"

	"github.com/giverny/giverny/collectors/failures"
	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/collectors/jobs"
	"github.com/giverny/giverny/collectors/traffic"
	"github.com/giverny/giverny/internal/faults"
)

// JobKinds lists the sources of jobs.
func JobKinds() []feeds.Kind {
	return []feeds.Kind{
		jobs.SqueueKind(),
		jobs.SlurmrestdKind(),
		jobs.SacctKind(),
		jobs.KubernetesKind(),
		jobs.FileKind(),
	}
}

// FailureKinds lists the sources of failures.
func FailureKinds() []feeds.Kind {
	return []feeds.Kind{
		failures.LogKind(),
	}
}

// TrafficKinds lists the sources of the traffic of jobs.
func TrafficKinds() []feeds.Kind {
	return []feeds.Kind{
		traffic.LustreKind(),
		traffic.FileKind(),
	}
}

// Feed is the section of one feed.
type Feed struct {
	// Read this feed.
	Enabled bool `yaml:"enabled"`

	Running feeds.Config       `yaml:",inline"`
	Source  feeds.SourceConfig `yaml:",inline"`

	description string
}

// Description says what the feed reads.
func (f *Feed) Description() string { return f.description }

// Feeds are the sections of a group's feeds, by name.
type Feeds struct {
	Sections map[string]*Feed `yaml:",inline"`
}

// DefaultFeeds is every feed of a group with its defaults, all disabled.
func DefaultFeeds(kinds []feeds.Kind) Feeds {
	sections := map[string]*Feed{}
	for _, k := range kinds {
		sections[k.Name] = &Feed{Running: feeds.DefaultConfig(k.Interval), Source: k.NewConfig(), description: k.Description}
	}
	return Feeds{sections}
}

// Validate joins all errors, including those of disabled feeds.
func (f *Feeds) Validate() error {
	var all faults.List
	for _, name := range f.names() {
		all.Under(name, f.Sections[name].Running.Validate())
		all.Under(name, f.Sections[name].Source.Validate())
	}
	return all.Err()
}

func (f *Feeds) names() []string { return slices.Sorted(maps.Keys(f.Sections)) }

// Enabled lists the enabled feeds by name.
func (f *Feeds) Enabled() (names []string) {
	for _, name := range f.names() {
		if f.Sections[name].Enabled {
			names = append(names, name)
		}
	}
	return names
}

// Open creates the source of a feed. Nothing is read yet.
func (f *Feeds) Open(name string, env feeds.Env) (feeds.Source, error) {
	source, err := f.Sections[name].Source.Open(env)
	if err != nil {
		return nil, fmt.Errorf("%s.%w", name, err)
	}
	return source, nil
}
