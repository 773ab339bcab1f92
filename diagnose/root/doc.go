// Package root finds where the congestion of a region begins. The graph, the region's links with their stall and their load now
// and before, and on a grid the possible senders go in; the port, link or switch where it begins comes out, with its kind and
// the evidence. The package knows no jobs, failures or verdicts, and keeps no state between intervals.
//
// Directed links (Follow): stall is followed downstream and divided at each switch between the ports that its traffic may wait
// for (spread.go), across links without readings (unread.go). The root is one of the ports where most of it ends (root.go;
// slowport.go if one carries less than it could).
//
// Links of a torus or mesh, whose readings have no direction: the traffic to one switch forms a tree (Drain: drain.go,
// converge.go), merges on its line (line.go) and arrives there (flooded.go); the load that was added shows whose nodes send it
// (Converging: converging.go). Or the region lies upstream of a bottleneck link (Neck: bottleneck.go, claims.go, gridspread.go,
// flat.go, soleway.go; counted.go for devices that count waits). Of all links and switches at the region, the root is the one where
// back pressure ends (Endings: ending.go, endingrates.go, endingline.go).
package root
