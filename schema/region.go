package schema

import (
	"encoding/json"
	"slices"
)

// Box is the bounding box of a region on a torus or mesh, in switch
// coordinates, inclusive of both corners. If a region crosses the wraparound,
// Max < Min in that dimension.
type Box struct {
	Min []int `json:"min"`
	Max []int `json:"max"`
}

// Kinds of roots, which a diagnosis determines.
const (
	RootIncast       = "incast"
	RootSlowReceiver = "slow_receiver"
	RootLinkCapacity = "link_capacity"
	RootLinkDown     = "link_down"
	RootDeadlock     = "deadlock"
)

// Root is where back pressure begins: the port that cannot forward what the links of a region bring to it. All
// but Device may be unknown: then the texts are empty and Link is NoLink, which are null in JSON.
type Root struct {
	Device string
	Port   string
	Peer   string // at the other end of the port's link
	Kind   string // RootIncast and so on
	Link   LinkID // that leaves the port
}

// Holds reports whether o is the same port or, if r's port is unknown, any place of the same device.
func (r *Root) Holds(o *Root) bool {
	return o != nil && r.Device == o.Device && (r.Port == "" || r.Port == o.Port)
}

// RootJSON is the JSON of a root, for regions and diagnoses, in the API, in Kafka and on the command line.
type RootJSON struct {
	Device string  `json:"device"`
	Port   *string `json:"port"` // null if the device is known but not its port
	Peer   *string `json:"peer"` // at the other end of the port's link; null if port is null
	Kind   *string `json:"kind"` // incast, slow_receiver, link_capacity, link_down or deadlock; null if no diagnosis has determined it
	Link   *LinkID `json:"link"` // that leaves the port; null if unknown
}

// MarshalJSON encodes a root as RootJSON.
func (r Root) MarshalJSON() ([]byte, error) {
	known := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	out := RootJSON{Device: r.Device, Port: known(r.Port), Peer: known(r.Peer), Kind: known(r.Kind)}
	if r.Link != NoLink {
		out.Link = &r.Link
	}
	return json.Marshal(out)
}

// UnmarshalJSON decodes a RootJSON and its older forms: of a region without peer and kind, of a diagnosis without
// link, both with empty texts for null.
func (r *Root) UnmarshalJSON(text []byte) error {
	in := RootJSON{Port: new(string), Peer: new(string), Kind: new(string)}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*r = Root{Device: in.Device, Link: NoLink}
	for _, of := range []struct {
		from *string
		to   *string
	}{{in.Port, &r.Port}, {in.Peer, &r.Peer}, {in.Kind, &r.Kind}} {
		if of.from != nil {
			*of.to = *of.from
		}
	}
	if in.Link != nil {
		r.Link = *in.Link
	}
	return nil
}

// Region is a set of neighbouring links with similar stall (Monet, section 4).
type Region struct {
	Metric   Metric   `json:"metric"`
	Links    []LinkID `json:"links"` // ascending
	Size     int      `json:"size"`
	Mean     float64  `json:"mean"` // percent of time, over the measured links; with those no longer measured if without them the severity would be higher
	Max      float64  `json:"max"`
	Severity Severity `json:"severity"`
	Unread   int      `json:"unread,omitempty"` // number of links that are in it, or were when they were last measured, and have no reading in this interval
	Box      *Box     `json:"box,omitempty"`    // if the fabric has coordinates
	Root     *Root    `json:"root"`             // what the region waits for; nil if links have no direction or no single port stands out
	Name     string   `json:"name,omitempty"`   // location, human-readable: "pod 3, all uplinks", "congestion tree at leaf7 port 9 (host56)", "(0,16,16) 4x4x9"

	// Tracking over time; zero if the region was not tracked.
	ID           uint64 `json:"id,omitempty"` // stable across intervals, unique in its fabric
	AgeIntervals int    `json:"age_intervals,omitempty"`
	BirthNanos   int64  `json:"-"` // "birth", RFC 3339

	Forecast *Forecast `json:"forecast,omitempty"` // nil if there is none
}

// Clone returns a copy of a region that a segmenter found, which shares no memory with it: a segmenter reuses its memory. Found
// regions have no forecast.
func (r Region) Clone() Region {
	r.Links = slices.Clone(r.Links)
	if r.Box != nil {
		r.Box = &Box{Min: slices.Clone(r.Box.Min), Max: slices.Clone(r.Box.Max)}
	}
	if r.Root != nil {
		root := *r.Root
		r.Root = &root
	}
	return r
}
