// Package routing says which way packets take through a fabric. In goes a
// topology.Graph, seen as directed channels of which some may be down; out come
// paths: directional order on tori and meshes, destination-mod-k and hashed
// equal-cost paths on trees, minimal and Valiant paths on dragonflies, and
// shortest paths on anything. It moves no traffic and models no time.
package routing
