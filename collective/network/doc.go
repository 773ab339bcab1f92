// Package network answers questions about the network between the ranks of a collective. In: its nodes and links, and
// the ports at which switches saw a flow. Out: the neighbour behind a port, the nominal rates of links, and the ports
// that a flow passes, certainly or possibly, by the shortest paths. It also has a map by port that is cheap to empty.
// It knows neither flows nor times, and does no I/O.
//
//	fabric.go            Fabric: nodes and links as recorded, and Port
//	router.go            Router: the neighbours of nodes
//	ports.go             the numbers of ports, and the hop behind one
//	table.go             Table: a map by port
//	rates.go             nominal rates of links
//	route.go             Route: the ports that a flow between two hosts passes
//	shortest.go          the shortest paths between two hosts
package network
