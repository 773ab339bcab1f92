// Package topology holds the graph of a fabric: devices, their ports, and the
// links between them, numbered densely and stored in compressed rows, with the
// distances that segmentation and diagnosis need.
//
// Graphs come from builders (torus, mesh, fat tree, dragonfly) and from readers
// of what fabrics say of themselves (ibnetdiscover, Slurm, NetQ, YAML). A graph
// is immutable: a change of the fabric makes a new version, in which every link
// that was known keeps its number. The package opens no files and polls nothing.
package topology
