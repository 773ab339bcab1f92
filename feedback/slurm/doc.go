// Package slurm makes Slurm avoid nodes by their weights, their features or both,
// through scontrol or slurmrestd. Input: nodes and their target states. Output:
// argument vectors (never a shell command line) or requests. Package reconcile decides
// which nodes are marked and restores them.
package slurm
