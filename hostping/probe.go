package hostping

// Pair is an RNIC and an endpoint: the two ends of a loopback path.
type Pair struct {
	RNIC     string `json:"rnic"`
	Endpoint string `json:"endpoint"`
}

// Probe is one loopback measurement. Each of Repeat times, QPs writes of Bytes each, one per queue pair, are posted
// at once.
type Probe struct {
	ID int `json:"id"` // from 1, in the order of the run
	Pair
	Bytes  int `json:"bytes"`
	QPs    int `json:"qps"`
	Repeat int `json:"repeat"`
}

// Status of a probe.
type Status string

// Statuses. Any other than OK voids the pair.
const (
	OK      Status = "ok"
	Invalid Status = "invalid" // the pair does not exist, such as a GPU that has vanished
	Failed  Status = "failed"
)

// ProbeResult is the answer to a probe: the microseconds per repetition from posting the writes to the last
// completion; at least one, and all above 0, if Status is OK.
type ProbeResult struct {
	Status        Status
	LatencyMicros []float64
	Detail        string // why it is not OK, if known
}

// Utilisation is the host's counters as shares from 0 to 1; a source omits what it lacks.
type Utilisation struct {
	RNICs     map[string]float64 `json:"rnics,omitempty"` // share of the line rate
	GPUs      map[string]float64 `json:"gpus,omitempty"`
	Links     map[string]float64 `json:"links,omitempty"` // by link id of the graph
	Processes []Process          `json:"processes,omitempty"`
}

// Process is a process' use of links.
type Process struct {
	PID   int                `json:"pid"`
	Name  string             `json:"name"`
	Links map[string]float64 `json:"links"` // share of the link's capacity, 0 to 1, by link id
}
