package schema

// IntervalResult is all that one interval of a fabric left behind: made once by
// the analysis, taken by every sink, read back by the read model. Its key is
// (fabric, interval, graph version, revision).
type IntervalResult struct {
	Snapshot *Snapshot
	// Revision is 0 where the interval is stored for the first time; a higher one
	// replaces all lower ones.
	Revision uint32
	Regions  []Region
	Events   []Event
	// What schedulers and logs said since the result before: jobs that began, changed or
	// ended, failures, and what jobs moved in this interval or, late, in earlier ones.
	Jobs     []Job
	Failures []Failure
	Traffic  []JobTraffic
	States   []NetworkState  // by stall metric that was measured
	Network  NetworkForecast // of all metrics
	// Congestion is the regions congestion event that is on; nil if none is.
	Congestion  *CongestionEvent
	Transitions []Transition // of regions, since the interval before
	Hot         []HotLink    // by metric, those that have been hot for longest first
	Episodes    []HotEpisode // that have ended
	Diagnoses   []Diagnosis  // of the regions at Low or above
	Mitigations []Mitigation // of which it is now known whether they helped
	Skill       ForecastSkills
	// Raw are the counter batches of the interval, with those columns alone from
	// which no metric is made.
	Raw []*CounterBatch
	// Dropped counts, by reason, the readings and values that were discarded since
	// the result before.
	Dropped map[string]uint64
	// Saved is the state of the stages of the analysis after this interval; nil in
	// most results.
	Saved []StageState
}

// StageState is what one stage of the analysis has learned, in its own form.
// Version is the form's: a stage reads its older forms or refuses them.
type StageState struct {
	Stage   string
	Version int
	Bytes   []byte
}

// ForecastSkill says how good forecasts have been: the mean Brier score over all
// whose outcome is known, 0 (perfect) to 2, and that of persistence, which
// says that every region stays as it is.
type ForecastSkill struct {
	Forecasts   uint64  `json:"forecasts"`
	Brier       float64 `json:"brier"`
	Persistence float64 `json:"persistence"`
}

// ForecastSkills for the next interval, and for LaterIntervals.
type ForecastSkills struct {
	Next  ForecastSkill `json:"next"`
	Later ForecastSkill `json:"later"`
}
