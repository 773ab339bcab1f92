package schema

import "slices"

// IntervalResult is the complete result of one interval of a fabric: the
// analysis makes it once, every sink takes it, the read model reads it back.
// Its key is (fabric, interval, graph version, revision).
type IntervalResult struct {
	Snapshot *Snapshot
	// Revision is 0 when the interval is stored for the first time; a higher one
	// replaces all lower ones.
	Revision uint32
	Regions  []Region
	Events   []Event
	// What schedulers and logs reported since the previous result: jobs that started,
	// changed or ended, failures, and the traffic of jobs in this interval or, if late,
	// in earlier ones.
	Jobs     []Job
	Failures []Failure
	Traffic  []JobTraffic
	States   []NetworkState  // by measured stall metric
	Network  NetworkForecast // over all metrics
	// Congestion is the ongoing regions congestion event; nil if there is none.
	Congestion  *CongestionEvent
	Transitions []Transition // of regions, from the previous interval
	Hot         []HotLink    // by metric, those hot longest first
	Episodes    []HotEpisode // completed
	Diagnoses   []Diagnosis  // of the regions at Low or above
	Mitigations []Mitigation // whose effect is now known
	Skill       ForecastSkills
	Silent      []SilentRegion // most of their links have no readings any more
	// Raw are the counter batches of the interval, with only the columns from
	// which no metric is derived.
	Raw []*CounterBatch
	// Dropped counts, by reason, the readings and values that were discarded since
	// the previous result.
	Dropped map[string]uint64
	// Saved are the states of the analysis' stages after this interval; nil in
	// most results.
	Saved []StageState
}

// SilentRegion is a Medium or High region whose readings stopped, so that it is unknown whether it continues.
type SilentRegion struct {
	ID       uint64
	Metric   Metric
	Severity Severity // when it was last measured
	Since    Instant  // start of that interval
}

// DiagnosesByRegion indexes the diagnoses by the ID of their region, which is unique in its fabric.
func (r *IntervalResult) DiagnosesByRegion() map[uint64]*Diagnosis {
	of := make(map[uint64]*Diagnosis, len(r.Diagnoses))
	for i := range r.Diagnoses {
		of[r.Diagnoses[i].Region] = &r.Diagnoses[i]
	}
	return of
}

// IsSilent reports whether the readings of a region that is not in this interval stopped.
func (r *IntervalResult) IsSilent(region uint64) bool {
	return slices.ContainsFunc(r.Silent, func(s SilentRegion) bool { return s.ID == region }) &&
		!slices.ContainsFunc(r.Regions, func(has Region) bool { return has.ID == region })
}

// StageState is what one stage of the analysis has learned, in its own format.
// Version is the format's: a stage reads older formats or rejects them.
type StageState struct {
	Stage   string
	Version int
	Bytes   []byte
}

// ForecastSkill is the skill of forecasts: the mean Brier score over all with a
// known outcome, 0 (perfect) to 2, and that of the persistence forecast, which
// predicts that every region stays as it is.
type ForecastSkill struct {
	Forecasts   uint64  `json:"forecasts"`
	Brier       float64 `json:"brier"`
	Persistence float64 `json:"persistence"`
}

// ForecastSkills are the skills for the next interval, and for LaterIntervals.
type ForecastSkills struct {
	Next  ForecastSkill `json:"next"`
	Later ForecastSkill `json:"later"`
}
