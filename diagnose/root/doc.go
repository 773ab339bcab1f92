// Package root finds where the congestion of a region begins. The graph, the region's links with their stall and their
// load now and before, and on a grid the possible senders go in; the port, link or switch where it begins comes out,
// with its kind and the evidence. The package knows no jobs, failures or verdicts, and keeps no state between
// intervals.
//
// A Finder holds all memory that is reused. Readings are those of an interval; a Pressure is the readings of one
// region, compared with its own past (For).
//
//	finder.go        Finder, on one version of a fabric
//	readings.go      Readings and Pressure, and what they say of one link
//	lookup.go        what is found of links is kept for the regions of an interval with the same stalls and past
//	unread.go        the stall of links without readings
//	oneway.go        on a grid, what a link shows that is busy in one direction
//	counted.go       on a grid, where devices count packets that wait
//
// Directed links (Follow): stall is followed downstream and divided at each switch between the ports that its traffic
// may wait for (walk). The root is one of the ports where most of it ends. The result says how close it is: the port,
// or the port with the largest part, or only the switch.
//
//	root.go          the ports and switches where most of the stall ends, and their kind
//	backpressure.go  the result
//	spread.go        stall is followed and divided
//	exits.go         the ports of a switch that traffic may wait for
//	hop.go           over which links traffic may go on
//	hiddennodes.go   on a grid of directed links, whether stall ends at the nodes of a switch
//	slowport.go, slowcable.go, slowitself.go  ports, cables and links that carry less than they could
//	slowalone.go     the same of a cable, without load readings
//
// On a grid, whose readings have no direction (Region), the traffic to one switch forms a tree (Drain), merges on its
// line and arrives there; the load that was added shows whose nodes send it (Converging). Or the region lies upstream
// of a link (Bottleneck). Of all links and switches at the region, the root is the one where back pressure ends
// (Endings).
//
//	gridregion.go    GridRegion: what its links show
//	drain.go         Drain: the switch on which its traffic converges; the full link before it
//	tree.go          how well readings agree with the routes from some switches to one
//	line.go, linestops.go  the switch of a line where traffic merges
//	arrivals.go      what arrives there
//	bottleneck.go    Bottleneck: the link that most of it waits for
//	claims.go        for which links suspects' routes wait
//	gridspread.go    stall is followed both ways
//	flat.go, soleway.go  links that lost rate by their constant load, and by being the only way on with less
//	reaches.go       how much of the region leads to a link
//	ending.go, endingrates.go, endingline.go  Endings: all places compared
//	nodesend.go      the nodes of which switch of a line
//	lineflow.go      to which of them the load added on the line can go
//	linefed.go       what before the links of the line explains their stall
package root
