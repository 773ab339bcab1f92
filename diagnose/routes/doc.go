// Package routes computes where on a fabric the traffic of a job can be, from the topology alone. The devices of its
// nodes go in; the load of each link under an all-to-all exchange comes out, and which links lie on routes to and from
// other nodes. On a torus or mesh routes are dimension-order, so that loads are counted without following each route
// (Grid); on other fabrics traffic is split equally over all shortest paths (ShortestPaths). It does not know what
// links carry or stall.
//
//	routes.go          Router and Set: the routes of a job, cached by its devices
//
// On a torus or mesh, dimension by dimension:
//
//	grid.go            Grid: links and switches by their places
//	gridtables.go      which way round a line routes go, tabulated
//	line.go            the switches of one dimension through a switch
//	gridexchange.go    the load of an all-to-all exchange, by products of numbers of nodes
//	passage.go         what of an exchange crosses a link, and where it was before
//	intree.go          routes to one switch, which form a tree
//
// On other fabrics, over all shortest paths:
//
//	paths.go           ShortestPaths: distances, and which links lie on the way
//	pathexchange.go    the load of an all-to-all exchange, with hosts in several rails or planes
package routes
