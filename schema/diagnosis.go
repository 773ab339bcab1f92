package schema

import "strings"

// CauseClass is the class of a region's cause of congestion (Monet, section 7).
type CauseClass string

// Classes of causes.
const (
	CauseSystem           CauseClass = "system"            // load of jobs, contention between jobs, the file system
	CauseFailure          CauseClass = "failure"           // a link, switch or node failed
	CauseIntraApplication CauseClass = "intra_application" // one job congests itself
	CauseSlowHost         CauseClass = "slow_host"         // a host or NIC pauses the network without congestion behind it
	CauseUnknown          CauseClass = "unknown"
)

// Words is the class in words: "slow host".
func (c CauseClass) Words() string { return strings.ReplaceAll(string(c), "_", " ") }

// Diagnosis says why one region of one interval is congested, and who should
// act. Its JSON is a public interface, documented in docs/reference.
type Diagnosis struct {
	Fabric   string        `json:"fabric,omitempty"`
	Time     Instant       `json:"time"` // start of the interval
	Region   uint64        `json:"region,string"`
	Metric   Metric        `json:"metric"`
	Severity Severity      `json:"severity"`
	Links    []LinkID      `json:"links"`
	Mean     float64       `json:"mean_percent"`
	Cause    Cause         `json:"cause"`
	Jobs     []AccusedJob  `json:"jobs"`            // the accused ones first
	Failures []NearFailure `json:"failures"`        // the most likely first
	Root     *Root         `json:"root"`            // nil: unknown
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

// Percent is the confidence to display: at most 99, since no verdict is certain.
func (c Cause) Percent() float64 { return min(99, 100*c.Confidence) }

// AccusedJob is a job whose traffic stands out near a region.
type AccusedJob struct {
	JobID       string  `json:"job_id"`
	Blame       float64 `json:"blame"`   // 0 to 1
	Feature     string  `json:"feature"` // the feature of its traffic that stands out
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

// VictimJob is a job that the region slows down, with bounds of the factor.
type VictimJob struct {
	JobID    string     `json:"job_id"`
	Slowdown [2]float64 `json:"slowdown"`
	// LostPercent is by how much less it moves since the region began than in any earlier period of the same length, in percent; 0
	// if that is little, or unknown.
	LostPercent float64 `json:"lost_percent,omitempty"`
}
