package hostping

// History is what earlier runs on a host found of its links, oldest first. Flapping shows in it alone (#6).
type History struct {
	Runs []PastRun `json:"runs"`
}

// PastRun is one run. Link ids are the graph's.
type PastRun struct {
	TimeNanos int64    `json:"time_ns"`
	Abnormal  []string `json:"abnormal"` // accused as failed, or flapping
	Gray      []string `json:"gray"`     // on an abnormal path whose links other paths show to be sound
	Normal    []string `json:"normal"`   // shown to be sound
}
