package schema

// Mitigation is a congestion mitigation event (CME; Monet, section 6): congestion protection events (CPE)
// that follow each other within 210 seconds, and their effect on the congestion.
type Mitigation struct {
	Fabric string  `json:"fabric,omitempty"`
	Begin  Instant `json:"begin"`  // of the first protection event
	End    Instant `json:"end"`    // of the last
	Events int     `json:"events"` // number of protection events
	// Congestion is the start of the regions congestion event that it overlaps; 0: none.
	Congestion Instant `json:"congestion,omitzero"`
	// Before and After are the stall of all regions at Low or above (sum over regions of links times mean,
	// percent), averaged over the five intervals before the first event and after the last.
	Before     float64 `json:"before_link_percent"`
	After      float64 `json:"after_link_percent"`
	Alleviated bool    `json:"alleviated"` // After is less than 90% of Before
}
