// Package jobs reads jobs from schedulers: Slurm's sacct, squeue and slurmrestd, Kubernetes, and files. Text of a
// scheduler goes in, schema.Job rows under the scheduler's own names of nodes come out, those that are new or have
// changed. Files and live sources share the parsers. It finds no devices; package feeds does.
package jobs
