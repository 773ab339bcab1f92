// Package routing computes packet paths through a fabric. The input is a topology.Graph
// as directed channels, some of which may be down; the output is paths: directional
// order on tori and meshes, destination-mod-k and hashed equal-cost paths on trees,
// minimal and Valiant paths on dragonflies, and shortest paths on any graph. It moves
// no traffic and models no time.
package routing
