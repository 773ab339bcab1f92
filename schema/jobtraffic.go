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
