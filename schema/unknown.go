package schema

import (
	"encoding/json"
	"fmt"
)

// UnknownReason says why the state of a network is unknown.
type UnknownReason string

// Reasons. The first three concern an interval; the others say why there is no
// new interval.
const (
	NothingMeasured UnknownReason = "nothing_measured" // no link has a value of any stall metric
	LowCoverage     UnknownReason = "low_coverage"     // a stall metric has values for too few of the links that recently had some, or of those of a Medium or High region
	LateReadings    UnknownReason = "late_readings"    // either of these, because readings arrive after their intervals have closed
	NoReadings      UnknownReason = "no_readings"      // the agents are silent
	KafkaAway       UnknownReason = "kafka"            // no broker answers
	StoreRefuses    UnknownReason = "store"            // results wait for the store
	Behind          UnknownReason = "behind"           // the newest interval is old, since Kafka has readings that are not analysed yet
	NoInterval      UnknownReason = "no_interval"      // none is stored, for any other reason
)

// UnknownReasons lists all reasons.
var UnknownReasons = [...]UnknownReason{NothingMeasured, LowCoverage, LateReadings, NoReadings, KafkaAway, StoreRefuses, Behind, NoInterval}

// Unknown says that the state of a network is unknown: silence does not mean calm.
type Unknown struct {
	Reason UnknownReason `json:"reason"`
	Since  Instant       `json:"since"`
	Detail string        `json:"detail,omitempty"` // human-readable
}

// Explained returns the detail or, without one, an explanation of the reason.
func (u *Unknown) Explained() string {
	switch {
	case u.Detail != "":
		return u.Detail
	case u.Reason == NothingMeasured:
		return "intervals are stored, but no link has a value of any stall metric"
	case u.Reason == LowCoverage:
		return "too few of the recently measured links, or of the links of a Medium or High region, have values; giverny_coverage_ratio and giverny agents list give details"
	}
	return string(u.Reason)
}

// unknownState is the JSON state of a network whose state is unknown.
const unknownState = "Unknown"

// StateName returns the state as users see it.
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

// MarshalJSON encodes the severity as the state if it is known; otherwise
// "Unknown", the reason, and the severity of what was measured.
func (n NetworkForecast) MarshalJSON() ([]byte, error) {
	j := networkJSON{State: n.StateName(), Unknown: n.Unknown, Next: n.Next, Later: n.Later}
	if n.Unknown != nil && n.Severity != Negligible {
		j.Severity = &n.Severity
	}
	return json.Marshal(j)
}

// UnmarshalJSON decodes the output of MarshalJSON.
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
