package schema

// Job is a job of the scheduler, as far as it is known: sent when it starts, and
// again when it changes or ends. Its key is (fabric, job id, start): ids are
// used again when a job is requeued.
type Job struct {
	Fabric string   `json:"fabric,omitempty"`
	ID     string   `json:"job_id"`
	Name   string   `json:"name,omitempty"`
	User   string   `json:"user,omitempty"`
	Nodes  []string `json:"nodes"`           // names of devices of the topology
	Start  Instant  `json:"start"`           // 0: it waits
	End    Instant  `json:"end,omitzero"`    // 0: it runs
	State  string   `json:"state,omitempty"` // in the scheduler's own word
}

// Failure is a part of the fabric that failed or came back, as a log or a
// management system reports it. Kind is one of the failure kinds of EventKind.
type Failure struct {
	Fabric string    `json:"fabric,omitempty"`
	Time   Instant   `json:"time"`
	Kind   EventKind `json:"kind"`
	Device string    `json:"device,omitempty"` // empty: the fabric as a whole
	Port   string    `json:"port,omitempty"`   // empty: the device as a whole
	Detail string    `json:"detail,omitempty"`
}
