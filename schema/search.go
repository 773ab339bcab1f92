package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
)

// KindSearch is the kind of commands that make an agent search a NIC for anomalies. Its arguments are a
// SearchRequest, its progress and output are SearchReports.
const KindSearch = "search"

// Subsystem is what anomalies of a NIC depend on (Collie, section 2). Empty fields are unknown.
type Subsystem struct {
	NICModel string `json:"nic_model"`          // as reported by the driver: MT4129
	Board    string `json:"board,omitempty"`    // the vendor's id of the board, the PSID
	Firmware string `json:"firmware,omitempty"` // of the NIC
	CPU      string `json:"cpu,omitempty"`      // model
	PCIe     string `json:"pcie,omitempty"`     // trained speed and width of the NIC's slot
	NPS      int    `json:"nps,omitempty"`      // NUMA nodes per socket
	Kernel   string `json:"kernel,omitempty"`   // release
}

// String returns a human-readable name.
func (s Subsystem) String() string {
	if s.NICModel == "" {
		return "unknown NIC"
	}
	if s.Firmware == "" {
		return s.NICModel
	}
	return s.NICModel + " with firmware " + s.Firmware
}

// Differs names the first field that is known in both and differs, with both values; empty: none.
func (s Subsystem) Differs(other Subsystem) string {
	for _, f := range []struct{ name, a, b string }{{"nic_model", s.NICModel, other.NICModel}, {"board", s.Board, other.Board},
		{"firmware", s.Firmware, other.Firmware}, {"cpu", s.CPU, other.CPU}, {"pcie", s.PCIe, other.PCIe}, {"kernel", s.Kernel, other.Kernel}} {
		if f.a != "" && f.b != "" && f.a != f.b {
			return fmt.Sprintf("%s %q, not %q", f.name, f.b, f.a)
		}
	}
	if s.NPS != 0 && other.NPS != 0 && s.NPS != other.NPS {
		return fmt.Sprintf("nps %d, not %d", other.NPS, s.NPS)
	}
	return ""
}

// Adapter is an RDMA adapter of a host.
type Adapter struct {
	Name     string `json:"name"`   // mlx5_0
	Device   string `json:"device"` // name in the topology
	Model    string `json:"model"`
	Board    string `json:"board,omitempty"`
	Firmware string `json:"firmware,omitempty"`
	PCIe     string `json:"pcie,omitempty"`
}

// HostHardware is an agent's report of its host's hardware.
type HostHardware struct {
	CPU      string    `json:"cpu,omitempty"`
	NPS      int       `json:"nps,omitempty"`
	Kernel   string    `json:"kernel,omitempty"`
	Adapters []Adapter `json:"adapters,omitempty"`
}

// Subsystem returns the subsystem of one of the host's adapters.
func (h *HostHardware) Subsystem(a *Adapter) Subsystem {
	return Subsystem{NICModel: a.Model, Board: a.Board, Firmware: a.Firmware, CPU: h.CPU, PCIe: a.PCIe, NPS: h.NPS, Kernel: h.Kernel}
}

// SearchRequest says what an agent should search.
type SearchRequest struct {
	Engine string `json:"engine"` // a name from the agent's configuration
	// Expected subsystem: an agent refuses if its adapter differs in a field that is set here.
	Subsystem       Subsystem                  `json:"subsystem"`
	Adapter         string                     `json:"adapter,omitempty"` // empty: the first of the subsystem's model
	Peers           []string                   `json:"peers,omitempty"`   // the other ends; one pair of hosts for each
	Algorithm       string                     `json:"algorithm,omitempty"`
	Budget          int                        `json:"budget"` // experiments
	DurationSeconds float64                    `json:"duration_seconds"`
	MaxGigabytes    float64                    `json:"max_gigabytes,omitempty"` // of traffic; 0: the agent's limit
	Seed            uint64                     `json:"seed"`
	Restrict        map[string]json.RawMessage `json:"restrict,omitempty"` // by dimension, in the form of giverny search run --restrict
	Known           []json.RawMessage          `json:"known,omitempty"`    // MFS not to search again
	Region          uint64                     `json:"region,string,omitempty"`
	Reason          string                     `json:"reason,omitempty"` // human-readable
}

// Limits of a request.
const (
	maxSearchBudget = 1_000_000
	maxSearchPeers  = 16
	maxSearchText   = 1 << 10
	MaxSearchKnown  = 256
)

// peerName matches what is safe as a program's argument and is not an option.
var peerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,252}$`)

// Check reports all faults of a request.
func (r *SearchRequest) Check() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("search request: "+format, args...))
		}
	}
	check(r.Engine != "" && len(r.Engine) <= maxSearchText, "engine: empty; name one of the agent's search.offer.engines")
	check(r.Budget >= 1 && r.Budget <= maxSearchBudget, "budget %d: want 1 to %d experiments", r.Budget, maxSearchBudget)
	check(r.DurationSeconds > 0 && !math.IsInf(r.DurationSeconds, 0), "duration_seconds %g: want more than 0", r.DurationSeconds)
	check(r.MaxGigabytes >= 0 && !math.IsInf(r.MaxGigabytes, 0), "max_gigabytes %g: want 0 or more", r.MaxGigabytes)
	check(len(r.Peers) <= maxSearchPeers, "%d peers: want up to %d", len(r.Peers), maxSearchPeers)
	check(len(r.Known) <= MaxSearchKnown, "%d known: want up to %d", len(r.Known), MaxSearchKnown)
	check(len(r.Reason) <= maxSearchText, "reason of %d bytes: want up to %d", len(r.Reason), maxSearchText)
	seen := map[string]bool{}
	for _, p := range r.Peers {
		check(peerName.MatchString(p), "peer %.80q: want a host name", p)
		check(!seen[p], "peer %.80q is duplicated", p)
		seen[p] = true
	}
	return errors.Join(errs...)
}

// SearchReport is the progress or the result of a search. Each repeats the search's parameters, so that it can be read alone.
type SearchReport struct {
	Engine    string    `json:"engine"`
	Adapter   string    `json:"adapter,omitempty"`
	Subsystem Subsystem `json:"subsystem"` // actual one of this host
	Algorithm string    `json:"algorithm"`
	Seed      uint64    `json:"seed"`
	Peers     []string  `json:"peers,omitempty"`
	Region    uint64    `json:"region,string,omitempty"`
	Budget    int       `json:"budget"`

	Experiments int     `json:"experiments"`
	Failed      int     `json:"failed"`
	Seconds     float64 `json:"seconds"`   // duration of the experiments
	Gigabytes   float64 `json:"gigabytes"` // traffic of the experiments, by the engine's rates
	Anomalies   int     `json:"anomalies"` // not withdrawn
	// Findings since the previous report; in the final answer all that are not withdrawn, and those withdrawn since the last
	// report.
	Findings []SearchFinding `json:"findings,omitempty"`
	// Dropped is the number of findings that did not fit into the answer; earlier reports had them.
	Dropped int `json:"dropped,omitempty"`
}

// SearchFinding is an anomaly, identified by the experiment that first showed it.
type SearchFinding struct {
	Experiment int             `json:"experiment"`
	Revised    int             `json:"revised,omitempty"` // the experiment at which the MFS changed
	Symptom    string          `json:"symptom"`           // pause, throughput
	Workload   json.RawMessage `json:"workload"`
	MFS        json.RawMessage `json:"mfs"` // null: withdrawn
}

// Withdrawn reports whether the finding was withdrawn.
func (f *SearchFinding) Withdrawn() bool { return len(f.MFS) == 0 || string(f.MFS) == "null" }

// SearchRequested is the status of a search that an authentic command requested.
const SearchRequested CommandStatus = "requested"

// SearchStep is a step of a search: its request (Agent is empty), or one answer of an agent.
type SearchStep struct {
	SearchID  string        `json:"search_id"` // id of the command
	Agent     string        `json:"agent,omitempty"`
	Status    CommandStatus `json:"status"`
	Sequence  uint32        `json:"sequence,omitempty"` // of progress
	Time      Instant       `json:"time"`
	Principal string        `json:"principal,omitempty"` // of a request
	Reason    string        `json:"reason,omitempty"`
	Report    SearchReport  `json:"report"`
}

// HardwareReport is the hardware of an agent's host at one time.
type HardwareReport struct {
	Agent    string       `json:"agent"`
	Time     Instant      `json:"time"`
	Hardware HostHardware `json:"hardware"`
}
