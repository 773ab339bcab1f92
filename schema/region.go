package schema

import "encoding/json"

// Box is the bounding box of a region on a torus or mesh, in switch
// coordinates, both corners inside. Where a region crosses the wraparound,
// Max < Min in that dimension.
type Box struct {
	Min []int `json:"min"`
	Max []int `json:"max"`
}

// Root is where a congestion tree begins: the port that cannot send on what the region's links bring it.
// Port is empty, and Link NoLink (null in JSON), where the switch is certain but not its port.
type Root struct {
	Device string
	Port   string
	Link   LinkID // that leaves the port
}

// RootJSON is a root in JSON.
type RootJSON struct {
	Device string  `json:"device"`
	Port   string  `json:"port"` // empty where the switch is certain but not its port
	Link   *LinkID `json:"link"` // that leaves the port; null where that is not known
}

// MarshalJSON writes a RootJSON.
func (r Root) MarshalJSON() ([]byte, error) {
	out := RootJSON{Device: r.Device, Port: r.Port}
	if r.Link != NoLink {
		out.Link = &r.Link
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads one.
func (r *Root) UnmarshalJSON(text []byte) error {
	var in RootJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*r = Root{Device: in.Device, Port: in.Port, Link: NoLink}
	if in.Link != nil {
		r.Link = *in.Link
	}
	return nil
}

// Region is a set of near links with similar stall (Monet, section 4).
type Region struct {
	Metric   Metric   `json:"metric"`
	Links    []LinkID `json:"links"` // ascending
	Size     int      `json:"size"`
	Mean     float64  `json:"mean"` // percent of time, over the measured links
	Max      float64  `json:"max"`
	Severity Severity `json:"severity"`
	Box      *Box     `json:"box,omitempty"`  // where the fabric has coordinates
	Root     *Root    `json:"root,omitempty"` // what the region waits for; nil where links have no direction or no one port stands out
	Name     string   `json:"name,omitempty"` // where, for a person: "pod 3, all uplinks", "incast at leaf7 port 9 (host56)", "(0,16,16) 4x4x9"

	// Over time; zero when the region was not tracked.
	ID           uint64 `json:"id,omitempty"` // stable across intervals, unique in its fabric
	AgeIntervals int    `json:"age_intervals,omitempty"`
	BirthNanos   int64  `json:"-"` // "birth", RFC 3339

	Forecast *Forecast `json:"forecast,omitempty"` // nil where none was made
}
