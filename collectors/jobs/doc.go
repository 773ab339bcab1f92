// Package jobs reads jobs from schedulers: Slurm's sacct, squeue and slurmrestd, Kubernetes, and files. Input: a
// scheduler's text. Output: new or changed schema.Job rows with the scheduler's node names. Files and live sources
// share the parsers. Package feeds maps nodes to devices.
package jobs
