package config

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// Tracking says how regions and hot links are followed through time.
type Tracking struct {
	// For how many intervals a region may be unseen and come back as itself.
	GapIntervals int `yaml:"gap_intervals"`
	// For how many intervals in a row a region must be more, or less, severe than was told before an event tells it; 1: at once. Births and ends are told at once in any case.
	HoldIntervals int `yaml:"hold_intervals"`
	// Intervals with a High region that lie no farther apart are one regions congestion event.
	CongestionWindow time.Duration `yaml:"congestion_window"`
	// The stalls, in percent of time, from which on it is measured for how long links stay hot; rising, 16 at most.
	HotThresholds Percents `yaml:"hot_thresholds"`
	// The one of them from which on the links that have been hot for longest are listed.
	HotPercent float64 `yaml:"hot_percent"`
	// How many links of each metric are listed.
	HotLinks int `yaml:"hot_links"`
}

// Percents are a short list, written on one line.
type Percents []float64

// MarshalYAML writes [5, 10].
func (p Percents) MarshalYAML() (any, error) {
	node := &yaml.Node{}
	err := node.Encode([]float64(p))
	node.Style = yaml.FlowStyle
	return node, err
}

func defaultTracking() Tracking {
	return Tracking{GapIntervals: 2, HoldIntervals: 2, CongestionWindow: 5 * time.Minute, HotThresholds: Percents{5, 10, 15, 20, 25, 30, 40, 50}, HotPercent: 15, HotLinks: 20}
}

func (t *Tracking) validate(bad func(format string, args ...any)) {
	if t.GapIntervals < 0 || t.GapIntervals > 1000 {
		bad("tracking.gap_intervals: %d: want 0 to 1000", t.GapIntervals)
	}
	if t.HoldIntervals < 1 || t.HoldIntervals > 1000 {
		bad("tracking.hold_intervals: %d: want 1 to 1000", t.HoldIntervals)
	}
	if t.CongestionWindow < 0 {
		bad("tracking.congestion_window: %v: want 0 or more", t.CongestionWindow)
	}
	rising := slices.IsSorted(t.HotThresholds) && len(slices.Compact(slices.Clone(t.HotThresholds))) == len(t.HotThresholds)
	if n := len(t.HotThresholds); n == 0 || n > 16 || !rising || !(t.HotThresholds[0] > 0 && t.HotThresholds[n-1] <= 100) {
		bad("tracking.hot_thresholds: %v: want 1 to 16 percentages that rise, above 0", t.HotThresholds)
	} else if !slices.Contains(t.HotThresholds, t.HotPercent) {
		bad("tracking.hot_percent: %v: want one of hot_thresholds, %v", t.HotPercent, t.HotThresholds)
	}
	if t.HotLinks < 0 || t.HotLinks > 1000 {
		bad("tracking.hot_links: %d: want 0 to 1000", t.HotLinks)
	}
}
