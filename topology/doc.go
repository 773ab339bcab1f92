// Package topology holds the graph of a fabric: devices, ports and links, densely
// numbered and stored in compressed rows, with the distances that segmentation and
// diagnosis need.
//
// Graphs come from builders (torus, mesh, fat tree, dragonfly) and from readers of
// topology files (ibnetdiscover, ibdiagnet, Slurm, NetQ, cables, YAML). A graph is
// immutable: a change of the fabric makes a new version, in which known links keep
// their numbers if the earlier graph is given; Moved and Diff compare versions by port. The package opens no
// files and polls nothing.
package topology
