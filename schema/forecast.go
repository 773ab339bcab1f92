package schema

// RegionState is the state of a region or a network in an interval: a severity, or Gone.
type RegionState uint8

// Gone is the state of a region that does not exist. The states below it are
// the severities.
const Gone = RegionState(len(severityNames))

// NumStates is the number of RegionStates.
const NumStates = int(Gone) + 1

func (s RegionState) String() string {
	if s == Gone {
		return "gone"
	}
	return Severity(s).String()
}

// Odds are the probabilities of a region's states, by RegionState; they sum to 1.
// Gone means that no region has its identity in that interval, whether permanently
// or not. A network is never Gone.
type Odds [NumStates]float64

// LaterIntervals is the horizon of the longer forecast.
const LaterIntervals = 5

// Forecast is the forecast for a region.
type Forecast struct {
	GrowthLinks  int     `json:"growth_links"`  // links gained per interval since it was last seen; 0 at birth
	TrendPercent float64 `json:"trend_percent"` // increase of its mean per interval
	Next         Odds    `json:"next"`          // in the next interval
	Later        Odds    `json:"later"`         // in LaterIntervals intervals
}

// NetworkForecast is the state of a fabric, which is that of its worst region
// by any metric, and its forecast.
type NetworkForecast struct {
	Severity Severity
	// Unknown is nil if the state is known. Otherwise Severity is that of what
	// was measured, and there are no odds.
	Unknown     *Unknown
	Next, Later Odds
}

// Transition is a region's state in one interval and in the next.
type Transition struct {
	Metric   Metric
	From, To RegionState
}

// CongestionEvent is a regions congestion event (RCE; Monet, section 6): a span
// in which every window of some minutes has a High region of any metric.
type CongestionEvent struct {
	BeginNanos      int64
	EndNanos        int64   // of its last interval with a High region
	PeakMeanPercent float64 // of its most stalled region
}

// DurationNanos is the duration of the event so far.
func (e *CongestionEvent) DurationNanos() int64 { return e.EndNanos - e.BeginNanos }

// HotLink is a link that has continuously been at or above a stall threshold.
type HotLink struct {
	Metric     Metric
	Link       LinkID
	SinceNanos int64
}

// HotEpisode is a completed episode of a hot link (Monet, Fig. 3).
type HotEpisode struct {
	Metric           Metric
	ThresholdPercent float64
	Intervals        int64 // 1 if it was hot once
}
