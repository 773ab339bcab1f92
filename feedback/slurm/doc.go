// Package slurm asks Slurm to avoid nodes, by their weights, their features or both,
// through scontrol or slurmrestd. In go nodes and what they are to be, out come
// argument vectors (never a shell's line) or requests. It decides nothing: which
// nodes, and that all is put back, is package reconcile's.
package slurm
