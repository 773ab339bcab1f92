package read

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/giverny/giverny/schema"
)

// MaxSearches limits the searches, and the findings, of a result.
const MaxSearches = 1000

// Search is a search as requested, with the progress of each agent that answered.
type Search struct {
	ID        string         `json:"search_id"`
	Requested schema.Instant `json:"requested"`
	Principal string         `json:"principal"`
	Why       string         `json:"why,omitempty"`
	Region    uint64         `json:"region,string,omitempty"`
	Engine    string         `json:"engine"`
	Algorithm string         `json:"algorithm"`
	Peers     []string       `json:"peers"`
	Seed      uint64         `json:"seed"`
	Budget    int            `json:"budget"`
	// Values of dimensions that limit the search; absent: the whole space.
	Restrict json.RawMessage `json:"restrict,omitempty"`
	// Subsystem that is searched; the requested one until an agent has reported its own.
	Subsystem schema.Subsystem `json:"subsystem"`
	Agents    []SearchAgent    `json:"agents"` // by name
}

// SearchAgent is a search's progress on one agent.
type SearchAgent struct {
	Agent       string               `json:"agent"`
	Status      schema.CommandStatus `json:"status"`
	Time        schema.Instant       `json:"time"` // of its last message
	Reason      string               `json:"reason,omitempty"`
	Adapter     string               `json:"adapter,omitempty"`
	Subsystem   schema.Subsystem     `json:"subsystem"`
	Experiments int                  `json:"experiments"`
	Failed      int                  `json:"failed"`
	Seconds     float64              `json:"seconds"`
	Gigabytes   float64              `json:"gigabytes"`
	Anomalies   int                  `json:"anomalies"`
}

// answerWithin is how long after the request an agent may be silent before its search counts as not started.
const answerWithin = schema.Instant(10 * time.Minute)

// Running reports whether an agent may be running the search at a time. A killed agent reports that when it restarts;
// until then its search counts as running.
func (s *Search) Running(now schema.Instant) bool {
	if len(s.Agents) == 0 {
		return now-s.Requested < answerWithin
	}
	return slices.ContainsFunc(s.Agents, func(a SearchAgent) bool { return !a.Status.Final() })
}

// Measured reports whether the search has run an experiment.
func (s *Search) Measured() bool {
	return slices.ContainsFunc(s.Agents, func(a SearchAgent) bool { return a.Experiments > 0 })
}

// Useful reports whether the whole space was searched, to completion or with at least half of the experiment budget:
// another search would find little more.
func (s *Search) Useful() bool {
	return len(s.Restrict) == 0 && slices.ContainsFunc(s.Agents, func(a SearchAgent) bool {
		return a.Experiments > 0 && (a.Status == schema.CommandDone || 2*a.Experiments >= s.Budget)
	})
}

// Searching maps each host that takes part in a running search, as the searching agent or as a peer, to the
// search's id: another search, or a probe, would disturb its measurements.
func Searching(list []Search, now schema.Instant) map[string]string {
	in := map[string]string{}
	for i := range list {
		s := &list[i]
		if !s.Running(now) {
			continue
		}
		for _, peer := range s.Peers {
			in[peer] = s.ID
		}
		for _, a := range s.Agents {
			if !a.Status.Final() {
				in[a.Agent] = s.ID
			}
		}
	}
	return in
}

// subsystemRow are the columns of a subsystem.
type subsystemRow struct {
	NICModel string `ch:"nic_model"`
	Board    string `ch:"board"`
	Firmware string `ch:"firmware"`
	CPU      string `ch:"cpu"`
	PCIe     string `ch:"pcie"`
	NPS      uint8  `ch:"nps"`
	Kernel   string `ch:"kernel"`
}

func (r *subsystemRow) subsystem() schema.Subsystem {
	return schema.Subsystem{NICModel: r.NICModel, Board: r.Board, Firmware: r.Firmware, CPU: r.CPU, PCIe: r.PCIe, NPS: int(r.NPS), Kernel: r.Kernel}
}

// searchRow is a row of a search and an agent.
type searchRow struct {
	ID          string    `ch:"search_id"`
	Requested   time.Time `ch:"requested"`
	Principal   string    `ch:"principal"`
	Why         string    `ch:"why"`
	Region      uint64    `ch:"region_id"`
	Engine      string    `ch:"engine"`
	Algorithm   string    `ch:"algorithm"`
	Peers       []string  `ch:"peers"`
	Seed        uint64    `ch:"seed"`
	Budget      uint32    `ch:"budget"`
	Restrict    string    `ch:"restrict"`
	Agent       string    `ch:"agent"`
	Status      string    `ch:"status"`
	Time        time.Time `ch:"time"`
	Reason      string    `ch:"reason"`
	Adapter     string    `ch:"adapter"`
	Experiments uint32    `ch:"experiments"`
	Failed      uint32    `ch:"failed"`
	Seconds     float64   `ch:"seconds"`
	Gigabytes   float64   `ch:"gigabytes"`
	Anomalies   uint32    `ch:"anomalies"`
	subsystemRow
}

// Searches returns the searches that were requested in a span, the newest first.
func (m *Model) Searches(ctx context.Context, fabric string, s Span, n int) ([]Search, error) {
	return m.searches(ctx, inNanos(fabric, s).with("id", "").with("limit", n))
}

// Search returns one search, or ErrNotFound if no authentic command requested it.
func (m *Model) Search(ctx context.Context, fabric, id string) (Search, error) {
	found, err := m.searches(ctx, Args{"fabric": fabric, "id": id, "from": int64(0), "to": int64(math.MaxInt64), "limit": 1})
	if err != nil {
		return Search{}, err
	}
	if len(found) == 0 {
		return Search{}, ErrNotFound
	}
	return found[0], nil
}

func (m *Model) searches(ctx context.Context, a Args) (list []Search, err error) {
	rows, err := limited[searchRow](ctx, m, "searches", a)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		r := &rows[i]
		if len(list) == 0 || list[len(list)-1].ID != r.ID {
			list = append(list, Search{ID: r.ID, Requested: schema.InstantOf(r.Requested), Principal: r.Principal, Why: r.Why, Region: r.Region, Engine: r.Engine,
				Algorithm: r.Algorithm, Peers: append([]string{}, r.Peers...), Seed: r.Seed, Budget: int(r.Budget), Restrict: rawJSON(r.Restrict), Subsystem: r.subsystem(), Agents: []SearchAgent{}})
		}
		if r.Agent == "" {
			continue
		}
		s := &list[len(list)-1]
		s.Agents = append(s.Agents, SearchAgent{Agent: r.Agent, Status: schema.CommandStatus(r.Status), Time: schema.InstantOf(r.Time), Reason: r.Reason,
			Adapter: r.Adapter, Subsystem: r.subsystem(), Experiments: int(r.Experiments), Failed: int(r.Failed), Seconds: r.Seconds,
			Gigabytes: r.Gigabytes, Anomalies: int(r.Anomalies)})
	}
	return list, nil
}

// Finding is an anomaly that was not withdrawn, and where it was found.
type Finding struct {
	SearchID  string           `json:"search_id"`
	Agent     string           `json:"agent"`
	Time      schema.Instant   `json:"time"`
	Subsystem schema.Subsystem `json:"subsystem"`
	schema.SearchFinding
}

// SearchFindings returns the anomalies that a search found.
func (m *Model) SearchFindings(ctx context.Context, fabric, id string) ([]Finding, error) {
	return m.findings(ctx, Args{"fabric": fabric, "id": id, "model": "", "limit": MaxSearches})
}

func (m *Model) findings(ctx context.Context, a Args) ([]Finding, error) {
	type row struct {
		ID         string    `ch:"search_id"`
		Agent      string    `ch:"agent"`
		Experiment uint32    `ch:"experiment"`
		Revised    uint32    `ch:"revised"`
		Time       time.Time `ch:"time"`
		Symptom    string    `ch:"symptom"`
		Workload   string    `ch:"workload"`
		MFS        string    `ch:"mfs"`
		subsystemRow
	}
	found, err := limited[row](ctx, m, "search_findings", a)
	return convert(found, err, func(r *row) (Finding, error) {
		return Finding{SearchID: r.ID, Agent: r.Agent, Time: schema.InstantOf(r.Time), Subsystem: r.subsystem(), SearchFinding: schema.SearchFinding{
			Experiment: int(r.Experiment), Revised: int(r.Revised), Symptom: r.Symptom, Workload: rawJSON(r.Workload), MFS: rawJSON(r.MFS)}}, nil
	})
}

// KnownAnomaly is a row of the knowledge base: an anomaly of a subsystem,
// deduplicated over all searches that found it.
type KnownAnomaly struct {
	Subsystem schema.Subsystem `json:"subsystem"`
	Symptom   string           `json:"symptom"`
	MFS       json.RawMessage  `json:"mfs"`
	Workload  json.RawMessage  `json:"workload"` // an example that showed it
	First     schema.Instant   `json:"first"`
	Last      schema.Instant   `json:"last"`
	Searches  []string         `json:"searches"` // that found it, the newest first
}

// KnownAnomalies returns the anomalies of a NIC model, or of all (""), the newest first.
func (m *Model) KnownAnomalies(ctx context.Context, fabric, nicModel string) (list []KnownAnomaly, err error) {
	found, err := m.findings(ctx, Args{"fabric": fabric, "id": "", "model": nicModel, "limit": MaxSearches})
	if err != nil {
		return nil, err
	}
	type identity struct {
		subsystem    schema.Subsystem
		symptom, mfs string
	}
	at := map[identity]int{}
	for i := range found {
		f := &found[i]
		id := identity{f.Subsystem, f.Symptom, string(f.MFS)}
		k, known := at[id]
		if !known {
			k = len(list)
			at[id] = k
			list = append(list, KnownAnomaly{Subsystem: f.Subsystem, Symptom: f.Symptom, MFS: f.MFS, Workload: f.Workload, First: f.Time, Last: f.Time})
		}
		a := &list[k]
		a.First, a.Last = min(a.First, f.Time), max(a.Last, f.Time)
		if !slices.Contains(a.Searches, f.SearchID) {
			a.Searches = append(a.Searches, f.SearchID)
		}
	}
	return list, nil
}

// HostAdapter is a network adapter of an agent's host.
type HostAdapter struct {
	Agent     string           `json:"agent"`
	Adapter   string           `json:"adapter"`
	Device    string           `json:"device"` // name in the topology
	Time      schema.Instant   `json:"time"`
	Subsystem schema.Subsystem `json:"subsystem"`
}

// Hardware returns the adapters of a device or agent, or of all (""), by agent.
func (m *Model) Hardware(ctx context.Context, fabric, device string) ([]HostAdapter, error) {
	type row struct {
		Agent   string    `ch:"agent"`
		Adapter string    `ch:"adapter"`
		Time    time.Time `ch:"time"`
		Device  string    `ch:"device"`
		subsystemRow
	}
	found, err := limited[row](ctx, m, "host_hardware", Args{"fabric": fabric, "device": device})
	list, err := convert(found, err, func(r *row) (HostAdapter, error) {
		return HostAdapter{Agent: r.Agent, Adapter: r.Adapter, Device: r.Device, Time: schema.InstantOf(r.Time), Subsystem: r.subsystem()}, nil
	})
	slices.SortFunc(list, func(a, b HostAdapter) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Adapter, b.Adapter))
	})
	return list, err
}
