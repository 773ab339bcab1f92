package schema

// NetworkState is the state of the fabric by one metric in an interval (Monet,
// section 5.2): that of its worst region.
type NetworkState struct {
	Metric   Metric   `json:"metric"`
	Severity Severity `json:"severity"` // of the worst region; Negligible if there is none
	// Regions and RegionLinks count the regions and their links, by severity.
	Regions     [len(severityNames)]uint32 `json:"regions"`
	RegionLinks [len(severityNames)]uint32 `json:"region_links"`
	Coverage    float64                    `json:"coverage"` // share of links with a value, 0 to 1
}

// NetworkStates returns the state by each stall metric of a snapshot, given its
// regions.
func NetworkStates(s *Snapshot, regions []Region) []NetworkState {
	var states []NetworkState
	for i := range s.Series {
		m := s.Series[i].Metric
		if !m.IsStall() {
			continue
		}
		state := NetworkState{Metric: m, Coverage: s.Coverage(m)}
		for j := range regions {
			if r := &regions[j]; r.Metric == m {
				state.Severity = max(state.Severity, r.Severity)
				state.Regions[r.Severity]++
				state.RegionLinks[r.Severity] += uint32(r.Size)
			}
		}
		states = append(states, state)
	}
	return states
}
