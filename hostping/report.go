package hostping

// State of a host during a run (section 4.2).
type State string

// States.
const (
	Idle State = "idle" // all RNICs below 5% of their line rate, all GPUs idle
	Busy State = "busy"
)

// Bottleneck is one of the twelve bottlenecks of the paper's section 6.
type Bottleneck string

// Bottlenecks, with the paper's numbers.
const (
	RNICPCIeFailure         Bottleneck = "rnic_pcie_failure"         // 1
	GPUPCIeFailure          Bottleneck = "gpu_pcie_failure"          // 2
	MemoryChannelFailure    Bottleneck = "memory_channel_failure"    // 3
	InterSocketFailure      Bottleneck = "inter_socket_failure"      // 4
	RootPortFailure         Bottleneck = "root_port_failure"         // 5
	MemoryChannelFlapping   Bottleneck = "memory_channel_flapping"   // 6
	ACSEnabled              Bottleneck = "acs_enabled"               // 7
	ATSDisabled             Bottleneck = "ats_disabled"              // 8
	RNICSlowStart           Bottleneck = "rnic_slow_start"           // 9
	TxWindowTooSmall        Bottleneck = "tx_window_too_small"       // 10
	InterSocketOverloaded   Bottleneck = "inter_socket_overloaded"   // 11
	MemoryChannelOverloaded Bottleneck = "memory_channel_overloaded" // 12
)

// Bottlenecks lists all, in the paper's order.
func Bottlenecks() []Bottleneck {
	return []Bottleneck{RNICPCIeFailure, GPUPCIeFailure, MemoryChannelFailure, InterSocketFailure, RootPortFailure, MemoryChannelFlapping, ACSEnabled, ATSDisabled, RNICSlowStart, TxWindowTooSmall,
		InterSocketOverloaded, MemoryChannelOverloaded}
}

// Report is the result of a run; its JSON is that of `giverny hostping run --json`.
type Report struct {
	State      State        `json:"state"`
	Verdicts   []Verdict    `json:"verdicts"` // by descending confidence; empty for a healthy host
	Matrix     []Cell       `json:"matrix"`   // the measured pairs
	Unmeasured []Unmeasured `json:"unmeasured"`
	Notes      []string     `json:"notes"`  // oddities that are not verdicts
	Probes     int          `json:"probes"` // number of probes sent
	Model      string       `json:"model"`

	Algorithm1 map[string]LinkFinding `json:"algorithm1"` // result of the published algorithm for each link
}

// Verdict is one bottleneck. Link is set for failures, flapping and overload, RNIC for 1 and 8 to 10, Endpoint for 2,
// 3, 6 and 12; other fields are empty.
type Verdict struct {
	Bottleneck   Bottleneck `json:"bottleneck"`
	Link         string     `json:"link"`
	RNIC         string     `json:"rnic"`
	Endpoint     string     `json:"endpoint"`
	Confidence   float64    `json:"confidence"` // share of such verdicts that are right on simulated hosts
	OverloadedBy []Consumer `json:"overloaded_by"`
	Evidence     Evidence   `json:"evidence"`
	Text         string     `json:"text"` // for display, such as "memory channel of numa1 at 61% of its baseline"
}

// Consumer is a process that uses an overloaded link.
type Consumer struct {
	PID   int     `json:"pid"`
	Name  string  `json:"name"`
	Share float64 `json:"share"` // of the link's capacity, 0 to 1
}

// Evidence is the basis of a verdict: pairs as [RNIC, endpoint].
type Evidence struct {
	Abnormal [][2]string          `json:"abnormal"`
	Cleared  map[string][2]string `json:"cleared"` // other links of these paths, each with a pair that shows it sound
}

// Cell is a measured pair and its baseline; 0 if it has no baseline.
type Cell struct {
	Pair
	LatencyMicros         float64 `json:"latency_us"`
	Gbps                  float64 `json:"gbps"`
	BaselineLatencyMicros float64 `json:"baseline_latency_us"`
	BaselineGbps          float64 `json:"baseline_gbps"`
}

// Unmeasured is a pair without a measurement, and why.
type Unmeasured struct {
	Pair
	Reason string `json:"reason"`
}
