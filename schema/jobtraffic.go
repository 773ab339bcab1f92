package schema

// JobTraffic is the traffic of a job's nodes in one interval, in bytes, summed
// over the nodes (Monet, section 7). Its key is (fabric, job id, time). A feature
// that was not measured is nil, never zero.
type JobTraffic struct {
	Fabric    string   `json:"fabric,omitempty"`
	JobID     string   `json:"job_id"`
	Time      Instant  `json:"time"` // start of the interval
	Read      *float64 `json:"read_bytes,omitempty"`
	Write     *float64 `json:"write_bytes,omitempty"`
	RDMARead  *float64 `json:"rdma_read_bytes,omitempty"`
	RDMAWrite *float64 `json:"rdma_write_bytes,omitempty"`
}

// IsBytes reports whether a value can be the bytes of an interval: 0 or more, and less than a counter of 64 bits can count.
// Larger ones are infinite as float32, in which the diagnosis keeps them.
func IsBytes(v float64) bool { return v >= 0 && v < 1<<64 }
