package schema

// Box is the bounding box of a region on a torus or mesh, in switch
// coordinates, both corners inside. Where a region crosses the wraparound,
// Max < Min in that dimension.
type Box struct {
	Min []int `json:"min"`
	Max []int `json:"max"`
}

// Root is where a congestion tree begins: the port that cannot send on what the region's links bring it.
// Port is empty, and Link NoLink, where the switch is certain but not its port.
type Root struct {
	Device string `json:"device"`
	Port   string `json:"port"`
	Link   LinkID `json:"link"` // that leaves the port
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
