package schema

// NetworkState is what an interval's regions of one metric say of the fabric as
// a whole (Monet, section 5.3): it is as congested as its most congested region.
type NetworkState struct {
	Metric  Metric
	State   Severity                // of the highest region; Negligible if there is none
	Regions [len(severityNames)]int // number of regions by severity
	Links   int                     // number of links that lie in a region
}
