// Package root finds where the congestion of a region begins. The graph, the region's links with their stall and their
// load now and before, and on a grid the possible senders go in; the port, link or switch where it begins comes out,
// with its kind and the evidence. The package knows no jobs, failures or verdicts, and keeps no state between
// intervals.
//
// A Finder holds all memory that is reused. Readings are those of an interval; a Pressure is the readings of one
// region, compared with its own past (For). What is found of links is kept for the regions of an interval with the same
// stall metric and past (lookup).
//
// Directed links (Follow): stall is followed downstream (walk) and divided at each switch between the ports that its
// traffic may wait for (spread.go), across links without readings (unread.go). The root is one of the ports where most
// of it ends (root.go; slowport.go if one carries less than it could).
//
// The ports are judged one by one (ports: slowport.go). The result says how close it is: the port, or the port with the
// largest part, or only the switch (BackPressure).
//
// Links of a torus or mesh, whose readings have no direction (Region): the traffic to one switch forms a tree (Drain:
// drain.go, converge.go), merges on its line (line.go) and arrives there (flooded.go); the load that was added shows
// whose nodes send it (Converging: converging.go). Or the region lies upstream of a bottleneck link (Neck:
// bottleneck.go, claims.go, gridspread.go, flat.go, soleway.go; counted.go for devices that count waits). Of all links
// and switches at the region, the root is the one where back pressure ends (Endings: ending.go, endingrates.go,
// endingline.go).
package root
