// Package root finds where the congestion of a region begins. In go the graph, the links of a region with what they stall, carry
// and carried before, and on a grid who may send; out comes the port, link or switch at which it begins, with its kind and what
// was found on the way. It knows no jobs, failures or verdicts, and remembers nothing from one interval to the next.
//
// Links with a direction (Follow): stall is followed downstream and divided at every switch between the ports that traffic may
// wait for (spread.go), a link without readings included (unread.go), and of the ports where most of it ends one is the root
// (root.go; fullports.go where several are full, slowport.go where one carries less than it could).
//
// Links of a torus or mesh, which have none: all that goes to one switch forms a tree (Drain: drain.go, converge.go), comes
// together on its line (line.go), and arrives there (flooded.go); a link that packets wait for lies before the region (Neck:
// bottleneck.go, claims.go, gridspread.go, flat.go, soleway.go, and counted.go on where devices count waits). Of all links and
// switches at the region the one at which back pressure ends is the root (Endings: ending.go, endingrates.go, endingline.go).
package root
