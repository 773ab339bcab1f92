package analysis

import (
	"time"

	"github.com/giverny/giverny/diagnose"
	"github.com/giverny/giverny/ingest/clockcheck"
	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/linkhealth"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/tracking"
)

// Config of the stages.
type Config struct {
	Window window.Config `yaml:",inline"`
	// The check of agents' clocks.
	Clocks clockcheck.Config `yaml:",inline"`
	// What happens to intervals while Kafka is unavailable, and to late readings.
	Outages `yaml:",inline"`
	// Method of finding regions.
	Segment segment.Config `yaml:"segment"`
	// How regions and hot links are tracked over time.
	Tracking `yaml:"tracking"`
	// When links and devices count as failed, and links as bad.
	Health linkhealth.Config `yaml:"health"`
	// Why regions are congested: how far and how long jobs and failures are looked for.
	Diagnose diagnose.Config `yaml:"diagnose"`
	// The share, 0 to 1, of the links measured lately (the most in an interval of the last 24 hours, by each stall metric) that an interval must measure for the network's state to be known. Below it the state is Unknown, unless a High region shows already; with nothing measured it is Unknown in any case.
	MinCoverage float64 `yaml:"min_coverage"`
}

// Outages says how intervals get readings that are delayed on their way.
type Outages struct {
	// How long, after an outage of Kafka, intervals wait until every agent has sent its spool; 0s: not at all. An interval that closes without some of its readings is completed later.
	Hold time.Duration `yaml:"hold"`
	// How old readings may be and still be added to stored intervals, which are then analysed and stored again. 0s: never. No longer than Kafka keeps the counters.
	CompleteWithin time.Duration `yaml:"complete_within"`
}

// defaultOutages holds for half a minute and completes the last hour.
func defaultOutages() Outages {
	return Outages{Hold: 30 * time.Second, CompleteWithin: time.Hour}
}

// Validate reports all faults.
func (o *Outages) Validate() error {
	var f faults.List
	const day = 24 * time.Hour
	f.Check(o.Hold >= 0 && o.Hold <= time.Hour, "hold", "%v: want 0s to 1h", o.Hold)
	f.Check(o.CompleteWithin >= 0 && o.CompleteWithin <= 7*day, "complete_within", "%v: want 0s to 7 days", o.CompleteWithin)
	return f.Err()
}

// Tracking is the configuration of tracking regions and links.
type Tracking struct {
	Track tracking.Config        `yaml:",inline"`
	Hot   tracking.HotspotConfig `yaml:",inline"`
}

// DefaultConfig analyses intervals of a minute.
func DefaultConfig() Config {
	return Config{Window: window.DefaultConfig(), Outages: defaultOutages(), Segment: segment.DefaultConfig(), Tracking: Tracking{tracking.DefaultConfig(), tracking.DefaultHotspotConfig()},
		Health: linkhealth.DefaultConfig(), Diagnose: diagnose.DefaultConfig(), MinCoverage: 0.5}
}

// Validate reports all faults.
func (c *Config) Validate() error {
	var f faults.List
	f.Under("", c.Window.Validate())
	f.Under("", c.Clocks.Validate())
	f.Under("", c.Outages.Validate())
	f.Under("segment", c.Segment.Validate())
	f.Under("tracking", c.Track.Validate())
	f.Under("tracking", c.Hot.Validate())
	f.Under("health", c.Health.Validate())
	f.Under("diagnose", c.Diagnose.Validate())
	f.Check(c.MinCoverage >= 0 && c.MinCoverage <= 1, "min_coverage", "%v: want 0 to 1", c.MinCoverage)
	return f.Err()
}

// track returns the tracker's configuration, with the minimum size and mean of
// regions.
func (c *Config) track(minLinks int) tracking.Config {
	t := c.Track
	t.Limits = tracking.Limits{Links: minLinks, MeanPercent: c.Segment.MinMeanPercent}
	return t
}

// minLateness is a delay that a busy host or broker may always cause. It costs
// no time while all devices report: intervals then close immediately.
const minLateness = 2 * time.Second

// Lateness is how long after its end an interval waits for readings: by default half an interval, but at least
// minLateness.
func (c *Config) Lateness() time.Duration {
	if c.Window.ClockLateness == 0 {
		return max(c.Window.Interval/2, minLateness)
	}
	return c.Window.ClockLateness
}

// window returns the window's configuration.
func (c *Config) window() window.Config {
	w := c.Window
	w.ClockLateness = c.Lateness()
	return w
}
