package schema

// RegionState is the state of a region or a network in an interval: a severity, or Gone.
type RegionState uint8

// Gone is the state of a region that is not there. The states below it are the
// severities.
const Gone = RegionState(len(severityNames))

// NumStates bounds every RegionState.
const NumStates = int(Gone) + 1

func (s RegionState) String() string {
	if s == Gone {
		return "gone"
	}
	return Severity(s).String()
}

// Odds are the probabilities of a region's states, by RegionState; they add up to 1.
// Gone is that no region has its identity in that interval, be it for good or
// not. A network is never Gone.
type Odds [NumStates]float64

// LaterIntervals is how far the longer forecast looks.
const LaterIntervals = 5

// Forecast is where a region is heading.
type Forecast struct {
	GrowthLinks  int     `json:"growth_links"`  // links gained since it was last seen, per interval; 0 at birth
	TrendPercent float64 `json:"trend_percent"` // rise of its mean per interval
	Next         Odds    `json:"next"`          // in the next interval
	Later        Odds    `json:"later"`         // in LaterIntervals
}

// NetworkForecast is the state of a fabric, that of its highest region of any
// metric, and where it is heading.
type NetworkForecast struct {
	Severity Severity
	// Unknown is nil if the state is known. Else Severity is that of what was
	// measured, and there are no odds.
	Unknown     *Unknown
	Next, Later Odds
}

// Transition is what a region was in one interval and in the next.
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

// DurationNanos of the event so far.
func (e *CongestionEvent) DurationNanos() int64 { return e.EndNanos - e.BeginNanos }

// HotLink is a link that has been at or above a threshold of stall without a
// break.
type HotLink struct {
	Metric     Metric
	Link       LinkID
	SinceNanos int64
}

// HotEpisode is a hot link's spell that has ended (Monet, Fig. 3).
type HotEpisode struct {
	Metric           Metric
	ThresholdPercent float64
	Intervals        int64 // 1 if it was hot once
}
