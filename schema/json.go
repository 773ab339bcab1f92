package schema

import "encoding/json"

// In JSON the times of these types are RFC 3339 text, like those of Instant.

type regionFields Region // without methods

type regionJSON struct {
	*regionFields
	Birth Instant `json:"birth,omitzero"`
}

// MarshalJSON encodes the birth as RFC 3339.
func (r Region) MarshalJSON() ([]byte, error) {
	return json.Marshal(regionJSON{(*regionFields)(&r), Instant(r.BirthNanos)})
}

// UnmarshalJSON decodes the output of MarshalJSON.
func (r *Region) UnmarshalJSON(text []byte) error {
	j := regionJSON{regionFields: (*regionFields)(r)}
	err := json.Unmarshal(text, &j)
	r.BirthNanos = int64(j.Birth)
	return err
}

type congestionEventJSON struct {
	Begin           Instant `json:"begin"`
	End             Instant `json:"end"`
	PeakMeanPercent float64 `json:"peak_mean_percent"`
}

// MarshalJSON encodes begin and end as RFC 3339.
func (e CongestionEvent) MarshalJSON() ([]byte, error) {
	return json.Marshal(congestionEventJSON{Instant(e.BeginNanos), Instant(e.EndNanos), e.PeakMeanPercent})
}

// UnmarshalJSON decodes the output of MarshalJSON.
func (e *CongestionEvent) UnmarshalJSON(text []byte) error {
	var j congestionEventJSON
	err := json.Unmarshal(text, &j)
	*e = CongestionEvent{int64(j.Begin), int64(j.End), j.PeakMeanPercent}
	return err
}

type hotLinkJSON struct {
	Metric Metric  `json:"metric"`
	Link   LinkID  `json:"link"`
	Since  Instant `json:"since"`
}

// MarshalJSON encodes the time as RFC 3339.
func (h HotLink) MarshalJSON() ([]byte, error) {
	return json.Marshal(hotLinkJSON{h.Metric, h.Link, Instant(h.SinceNanos)})
}

// UnmarshalJSON decodes the output of MarshalJSON.
func (h *HotLink) UnmarshalJSON(text []byte) error {
	var j hotLinkJSON
	err := json.Unmarshal(text, &j)
	*h = HotLink{j.Metric, j.Link, int64(j.Since)}
	return err
}

type eventJSON struct {
	Time     Instant   `json:"time"`
	Fabric   string    `json:"fabric,omitempty"`
	Kind     EventKind `json:"kind"`
	Device   string    `json:"device,omitempty"`
	Port     string    `json:"port,omitempty"`
	RegionID uint64    `json:"region_id,omitempty"`
	JobID    string    `json:"job_id,omitempty"`
	Detail   string    `json:"detail,omitempty"`
}

// MarshalJSON encodes the time as RFC 3339.
func (e Event) MarshalJSON() ([]byte, error) {
	return json.Marshal(eventJSON{Instant(e.TimeNanos), e.Fabric, e.Kind, e.Device, e.Port, e.RegionID, e.JobID, e.Detail})
}

// UnmarshalJSON decodes the output of MarshalJSON.
func (e *Event) UnmarshalJSON(text []byte) error {
	var j eventJSON
	err := json.Unmarshal(text, &j)
	*e = Event{int64(j.Time), j.Fabric, j.Kind, j.Device, j.Port, j.RegionID, j.JobID, j.Detail}
	return err
}
