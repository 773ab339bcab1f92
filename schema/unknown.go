package schema

import (
	"encoding/json"
	"fmt"
)

// UnknownReason says why the state of a network cannot be given.
type UnknownReason string

// Reasons. The first two are an interval's own; the others say why there is no
// new interval.
const (
	NothingMeasured UnknownReason = "nothing_measured" // no link has a value of any stall metric
	LowCoverage     UnknownReason = "low_coverage"     // a stall metric has values of too few of the links that had some lately
	LateReadings    UnknownReason = "late_readings"    // the same, since readings arrive after their intervals have closed
	NoReadings      UnknownReason = "no_readings"      // the agents are silent
	KafkaAway       UnknownReason = "kafka"            // no broker answers
	StoreRefuses    UnknownReason = "store"            // results wait for the store
	NoInterval      UnknownReason = "no_interval"      // none is stored, for another reason
)

// UnknownReasons lists them all.
var UnknownReasons = [...]UnknownReason{NothingMeasured, LowCoverage, LateReadings, NoReadings, KafkaAway, StoreRefuses, NoInterval}

// Unknown is that the state of a network cannot be given: silence is no calm.
type Unknown struct {
	Reason UnknownReason `json:"reason"`
	Since  Instant       `json:"since"`
	Detail string        `json:"detail,omitempty"` // for a person
}

// Explained is the detail or, without one, what the reason means.
func (u *Unknown) Explained() string {
	switch {
	case u.Detail != "":
		return u.Detail
	case u.Reason == NothingMeasured:
		return "intervals are stored, but no link has a value of any stall metric"
	case u.Reason == LowCoverage:
		return "too few of the links that were measured lately have values; giverny_coverage_ratio and giverny agents list say more"
	}
	return string(u.Reason)
}

// unknownState is the state in JSON of a network whose state is not known.
const unknownState = "Unknown"

// StateName is the state as users see it.
func (n *NetworkForecast) StateName() string {
	if n.Unknown != nil {
		return unknownState
	}
	return n.Severity.String()
}

type networkJSON struct {
	State    string    `json:"state"`
	Severity *Severity `json:"at_least,omitempty"` // of what was measured
	Unknown  *Unknown  `json:"unknown,omitempty"`
	Next     Odds      `json:"next"`
	Later    Odds      `json:"later"`
}

// MarshalJSON gives the severity as the state where it is known; else "Unknown",
// why, and the severity of the little that was measured.
func (n NetworkForecast) MarshalJSON() ([]byte, error) {
	j := networkJSON{State: n.StateName(), Unknown: n.Unknown, Next: n.Next, Later: n.Later}
	if n.Unknown != nil && n.Severity != Negligible {
		j.Severity = &n.Severity
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON gives.
func (n *NetworkForecast) UnmarshalJSON(text []byte) error {
	var j networkJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	*n = NetworkForecast{Unknown: j.Unknown, Next: j.Next, Later: j.Later}
	if j.Severity != nil {
		n.Severity = *j.Severity
	}
	if j.State == unknownState {
		if j.Unknown == nil {
			return fmt.Errorf("network state %q: without a reason", j.State)
		}
		return nil
	}
	return n.Severity.UnmarshalText([]byte(j.State))
}
