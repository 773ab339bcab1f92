package schema

import (
	"slices"
	"strings"
)

// EventKind says what happened.
type EventKind string

// Words is the kind in words: "link failed".
func (k EventKind) Words() string { return strings.ReplaceAll(string(k), "_", " ") }

// Kinds of events.
const (
	LinkFailed     EventKind = "link_failed"
	LinkRestored   EventKind = "link_restored"
	SwitchFailed   EventKind = "switch_failed"
	SwitchRestored EventKind = "switch_restored"
	NodeFailed     EventKind = "node_failed"
	NodeRestored   EventKind = "node_restored"
	// It does not report, but its neighbours show that it works: no failure.
	SwitchSilent    EventKind = "switch_silent"
	SwitchReporting EventKind = "switch_reporting" // it reports again, after SwitchSilent
	NodeSilent      EventKind = "node_silent"
	NodeReporting   EventKind = "node_reporting"
	// Only in diagnoses: counters show it, but no log does.
	LinkDownSuspected   EventKind = "link_down_suspected"   // a cable no longer carries anything
	SwitchDownSuspected EventKind = "switch_down_suspected" // nor does any cable of a switch
	LinkErrors          EventKind = "link_errors"           // a port exceeds the allowed number of errors per hour
	LinkFlapping        EventKind = "link_flapping"         // a link retrains repeatedly
	Throttled           EventKind = "congestion_protection" // a congestion protection event (CPE)
	JobStarted          EventKind = "job_started"
	JobEnded            EventKind = "job_ended"
	RegionBorn          EventKind = "region_born"
	RegionEnded         EventKind = "region_ended"
	RegionMerged        EventKind = "region_merged"
	RegionSplit         EventKind = "region_split"
	RegionSeverity      EventKind = "region_severity" // a region changed its severity and kept the new one
	GraphChanged        EventKind = "graph_changed"
	Story               EventKind = "story" // a scripted message of a simulated day

	CongestionBegan EventKind = "congestion_began" // a regions congestion event (RCE)
	CongestionEnded EventKind = "congestion_ended"

	MitigationBegan EventKind = "mitigation_began" // a congestion mitigation event (CME)
	MitigationEnded EventKind = "mitigation_ended" // and its effect on the congestion is known
)

// EventKinds returns the kinds that an Event may have.
func EventKinds() []EventKind {
	return append(FailureKinds(), SwitchSilent, SwitchReporting, NodeSilent, NodeReporting, LinkErrors, LinkFlapping, JobStarted, JobEnded,
		RegionBorn, RegionEnded, RegionMerged, RegionSplit, RegionSeverity, GraphChanged, Story, CongestionBegan, CongestionEnded, MitigationBegan, MitigationEnded)
}

// Event is something that happened to a fabric at an instant.
type Event struct {
	TimeNanos int64
	Fabric    string
	Kind      EventKind
	Device    string // empty if none
	Port      string // empty if none
	RegionID  uint64 // 0 if none
	JobID     string // empty if none
	Detail    string // human-readable
}

// FailureKinds returns the kinds of a Failure: a part of the fabric failed or
// recovered, or congestion protection set in.
func FailureKinds() []EventKind {
	return []EventKind{LinkFailed, LinkRestored, SwitchFailed, SwitchRestored, NodeFailed, NodeRestored, Throttled}
}

// IsFailure reports whether k is a kind of Failure.
func (k EventKind) IsFailure() bool { return slices.Contains(FailureKinds(), k) }
