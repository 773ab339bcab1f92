package trees

// Indices of the package's own kinds; see package index.
type (
	placeID     int32 // where a sink may be: a device, or, numbered after the devices, a link
	componentID int32 // a component of back pressure, by one of its elements: nodes, then devices
	sinkID      int32 // an index of sinks.all
	levelID     int32 // a set of sinks at one level, by its first sink
	causeID     int32 // a cause, by its first sink; or, numbered after the sinks, a port that is another cause than its sink
	patchID     int32 // an index of patches.all; or a set of patches that are one region, by its first
	hops        int32 // the rank of a node: how many hops it is from a sink
	exchangeID  int32 // an exchange known from the hosts of whole leaves: an index of hostExchanges.all
)
