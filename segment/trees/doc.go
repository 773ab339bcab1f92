// Package trees finds regions where links have one direction: congestion trees along back pressure, all-to-all
// exchanges, and groups of the other stalled links. It takes percentages by link, and returns groups of links, which
// may overlap, and where the back pressure of each begins. It keeps nothing from one snapshot to the next.
//
// Link u->v waits because v->w does, so congestion grows upstream from a full port, its root: the method is a
// watershed on the downstream graph. A snapshot passes through these steps, in this order. Each file tells one rule,
// with its constants, which are the same for every fabric: percentage points of stall, deviations of the noise,
// shares, or numbers of links. They were chosen on synthetic congestion (package bench).
//
//	method.go            the steps, and the memory that they share
//
//	0. Which exchanges use all spines of a two-level fabric? They are found by level, and subtracted: package layers.
//
//	1. Which links are stalled, and for which links may each wait? Package backpressure.
//
//	2. Where does the chain of waiting end? At a sink: a switch with a full port, or a link sink (a port apart from what
//	   else waits at its switch).
//	trees.go             what steps 1 and 2 know of the stalled links, and (analysis) step 3
//	origins.go           ports that are sinks of their own; nodes that wait for nothing that stalls
//	saddles.go           where stall falls and then rises, something else begins
//	twins.go             two ports of one leaf that stall equally
//	exchangeends.go      routers of a dragonfly's group that exchange, and groups that do
//	ranks.go             nodes in the order of waiting
//	sinks.go, sink.go    all sinks, which nodes lead to each, what waits there
//
//	3. Which sinks have the same cause? A cause is a set of sinks, an exchange if they are leaves that exchange.
//	causes.go            sinks that share their sources
//	exchanges.go         leaves at one level; where two causes add up
//	treeleaves.go        leaves of an exchange where a tree begins, too
//	joins.go             the table of the joins below, in their order; they need the shares of step 4
//	closed.go            leaves that receive from each other alone
//	mutual.go            leaves that receive from where they send to
//	misfits.go           causes that explain their own links badly, unless there is a reason for them:
//	oneway.go            its sources only send
//	leans.go             causes that begin at links which wait for another cause
//	beside.go            the causes beside a cause, and by how many links
//	votes.go             counts of links, by pair of causes
//
//	4. For which causes does each link wait, and how much for each?
//	shares.go, parts.go  hop by hop upstream: the causes of a link, and its parts
//	attenuation.go       by how much a cause falls from hop to hop
//	choice.go            the causes that predict a link best, and those that are about as likely
//	lone.go              hot links that wait for nothing found
//
//	5. At which port does each cause begin?
//	roots.go             by what waits there, or by load
//
//	6. Which regions are reported?
//	regions.go           causes of enough links
//	patches.go           stalled links of no region, unless chance explains them
//	exchanging.go        regions whose leaves send as those of an exchange
//	unfed.go             regions that show neither who receives nor who sends
//	railregions.go       regions in which the same hosts wait, each with another adapter
//	emit.go              the groups, without
//	deadends.go          links that lead away from a root
//
//	7. On two levels: which hosts wait for ports of an exchange that do not stall? If regions divide them, or join them
//	with other sources, steps 1 to 6 are repeated without them.
//	hostexchanges.go     exchanges known by all hosts of their leaves
//
//	8. On two levels, or in a pod: for which of the trees do the uplinks of each leaf wait, as a whole? Package spines.
//
// Steps 1 and 2 make three types, each with all that the one before knows: backpressure.Nodes (the stalled links),
// backpressure.Waits (for which others each may wait) and trees (where that ends). Those of the other steps are sinks and
// causes, which make an analysis with trees, shares of what that found, and patches. Indices are of one kind each: package
// index has those that the packages share.
//
//	kinds.go             the others
//
// A tree shows in one way: a port is full, and what waits for it stalls in a chain back to the senders. An exchange fills many
// ports in turn, and what of it stalls depends on what is scarce: the spines, the ports of its receivers, or ports that are full
// too briefly to stall themselves. No link stalls in all of these cases, so no one rule finds all exchanges. Layers come before
// the trees, since a tree's links are hidden below their level; host exchanges come after them, since only the regions show that
// their hosts were divided. An exchange is found in one of four ways, by what of it stalls:
//
//	a layer              all spines: its leaves send at one level and receive at one level (package layers, before trees)
//	a level exchange     links that wait at its leaves: these are level and share their sources (exchanges.go; joins.go
//	                     has the rules where they are not level)
//	an exchanging region hosts or uplinks, and nothing that they wait for: its leaves send alike (exchanging.go)
//	a host exchange      the same, but beside trees whose uplinks its hosts may wait for, too (hostexchanges.go)
package trees
