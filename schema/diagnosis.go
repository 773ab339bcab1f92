package schema

// CauseClass is why a region is congested (Monet, section 7).
type CauseClass string

// Classes of causes.
const (
	CauseSystem           CauseClass = "system"            // load of jobs, contention between jobs, the file system
	CauseFailure          CauseClass = "failure"           // a link, switch or node that failed
	CauseIntraApplication CauseClass = "intra_application" // one job in its own way
	CauseSlowHost         CauseClass = "slow_host"         // a host or NIC pauses the network without congestion behind it
	CauseUnknown          CauseClass = "unknown"
)

// Diagnosis says why one region of one interval is congested, and who should
// act. Its JSON is a public interface: docs/reference has it.
type Diagnosis struct {
	Fabric   string        `json:"fabric,omitempty"`
	Time     Instant       `json:"time"` // start of the interval
	Region   uint64        `json:"region,string"`
	Metric   Metric        `json:"metric"`
	Severity Severity      `json:"severity"`
	Links    []LinkID      `json:"links"`
	Mean     float64       `json:"mean_percent"`
	Cause    Cause         `json:"cause"`
	Jobs     []AccusedJob  `json:"jobs"`            // the accused first
	Failures []NearFailure `json:"failures"`        // the likeliest first
	Root     *Root         `json:"root"`            // nil: not known
	Cycle    []PortName    `json:"cycle,omitempty"` // of a deadlock: each port waits for the next, and the last for the first
	Victims  []VictimJob   `json:"victims"`
	Action   string        `json:"action"`
	Text     string        `json:"text"`
	// Revision of the interval in giverny.diagnoses: a higher one replaces all lower ones.
	Revision uint32 `json:"revision,omitempty"`
}

// Cause is a class with the confidence in it, 0 to 1.
type Cause struct {
	Class      CauseClass `json:"class"`
	Confidence float64    `json:"confidence"`
}

// Percent is the confidence for a person: no verdict is sure, so it is 99 at most.
func (c Cause) Percent() float64 { return min(99, 100*c.Confidence) }

// AccusedJob is a job whose traffic stands out near a region.
type AccusedJob struct {
	JobID       string  `json:"job_id"`
	Blame       float64 `json:"blame"`   // 0 to 1
	Feature     string  `json:"feature"` // of its traffic that stands out
	Value       float64 `json:"value"`
	Deviations  float64 `json:"deviations"` // from the median, in MADs
	Correlation float64 `json:"correlation"`
	LagSeconds  float64 `json:"lag_seconds"`
	PValue      float64 `json:"p_value"`
}

// NearFailure is a failure near a region.
type NearFailure struct {
	Time   Instant   `json:"time"`
	Kind   EventKind `json:"kind"`
	Device string    `json:"device"`
	Port   string    `json:"port"`
	Hops   int       `json:"hops"`
}

// VictimJob is a job that the region slows down, by a factor within bounds.
type VictimJob struct {
	JobID    string     `json:"job_id"`
	Slowdown [2]float64 `json:"slowdown"`
	// LostPercent is by how much it moves less since the region began than ever before over as long a time, percent; 0 where that is
	// little, or not known.
	LostPercent float64 `json:"lost_percent,omitempty"`
}
