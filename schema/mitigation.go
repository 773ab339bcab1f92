package schema

// Mitigation is a congestion mitigation event (CME; Monet, section 6): congestion protection events (CPE)
// that follow each other within 210 seconds, and what became of the congestion.
type Mitigation struct {
	Fabric string  `json:"fabric,omitempty"`
	Begin  Instant `json:"begin"`  // of the first protection event
	End    Instant `json:"end"`    // of the last
	Events int     `json:"events"` // how many there were
	// Congestion is when the regions congestion event began that it met; 0: none was on.
	Congestion Instant `json:"congestion,omitzero"`
	// Before and After are the stall of all regions at Low or above, sum over regions of links times mean, percent,
	// as means over the five intervals before the first event and after the last.
	Before     float64 `json:"before_link_percent"`
	After      float64 `json:"after_link_percent"`
	Alleviated bool    `json:"alleviated"` // After is less than nine tenths of Before
}
