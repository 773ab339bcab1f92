package schema

import "slices"

// EventKind says what happened.
type EventKind string

// Kinds of events.
const (
	LinkFailed     EventKind = "link_failed"
	LinkRestored   EventKind = "link_restored"
	SwitchFailed   EventKind = "switch_failed"
	SwitchRestored EventKind = "switch_restored"
	NodeFailed     EventKind = "node_failed"
	NodeRestored   EventKind = "node_restored"
	// Of a diagnosis only: counters show it, and no log does.
	LinkDownSuspected   EventKind = "link_down_suspected"   // a cable carries nothing any more
	SwitchDownSuspected EventKind = "switch_down_suspected" // nor does any of a switch
	LinkErrors          EventKind = "link_errors"           // a port counts more errors an hour than is allowed
	LinkFlapping        EventKind = "link_flapping"         // a link loses its training again and again
	Throttled           EventKind = "congestion_protection" // a congestion protection event (CPE)
	JobStarted          EventKind = "job_started"
	JobEnded            EventKind = "job_ended"
	RegionBorn          EventKind = "region_born"
	RegionEnded         EventKind = "region_ended"
	RegionMerged        EventKind = "region_merged"
	RegionSplit         EventKind = "region_split"
	RegionSeverity      EventKind = "region_severity" // a region changed its severity, and stayed with it
	GraphChanged        EventKind = "graph_changed"
	Story               EventKind = "story" // a scripted line of a simulated day

	CongestionBegan EventKind = "congestion_began" // a regions congestion event (RCE)
	CongestionEnded EventKind = "congestion_ended"

	MitigationBegan EventKind = "mitigation_began" // a congestion mitigation event (CME)
	MitigationEnded EventKind = "mitigation_ended" // what became of the congestion is known
)

// Event is something that happened to a fabric at an instant.
type Event struct {
	TimeNanos int64
	Fabric    string
	Kind      EventKind
	Device    string // empty if none
	Port      string // empty if none
	RegionID  uint64 // 0 if none
	JobID     string // empty if none
	Detail    string // for a person
}

// FailureKinds are those that a Failure may be of: a part of the fabric failed or came
// back, or the fabric protected itself.
func FailureKinds() []EventKind {
	return []EventKind{LinkFailed, LinkRestored, SwitchFailed, SwitchRestored, NodeFailed, NodeRestored, Throttled}
}

// IsFailure says that a Failure may be of that kind.
func (k EventKind) IsFailure() bool { return slices.Contains(FailureKinds(), k) }
