package schema

// Job is a job of the scheduler, as far as it is known: sent when it starts, and
// again when it changes or ends. Its key is (fabric, job id, start), because ids
// are reused when a job is requeued.
type Job struct {
	Fabric string   `json:"fabric,omitempty"`
	ID     string   `json:"job_id"`
	Name   string   `json:"name,omitempty"`
	User   string   `json:"user,omitempty"`
	Nodes  []string `json:"nodes"`           // names of devices of the topology
	Start  Instant  `json:"start"`           // 0: pending
	End    Instant  `json:"end,omitzero"`    // 0: running
	State  string   `json:"state,omitempty"` // as named by the scheduler
}

// JobTitle names a job in texts: "job 103 (psdns)", or "job 103" without a name of its own.
func JobTitle(id, name string) string {
	if name == "" || name == id {
		return "job " + id
	}
	return "job " + id + " (" + name + ")"
}

// Failure is a failure or recovery of a part of the fabric, as reported by a
// log or a management system. Kind is one of the failure kinds of EventKind.
type Failure struct {
	Fabric string    `json:"fabric,omitempty"`
	Time   Instant   `json:"time"`
	Kind   EventKind `json:"kind"`
	Device string    `json:"device,omitempty"` // empty: the whole fabric
	Port   string    `json:"port,omitempty"`   // empty: the whole device
	Detail string    `json:"detail,omitempty"`
}
