// Package hostping finds bottlenecks inside a host by loopback tomography (Hostping, Liu et al., NSDI'23).
// In go the description of a host (hwloc, NCCL or nvidia-smi), a baseline of its model, and what loopback probes
// between its RNICs and its GPUs and memory nodes have measured; out come the host's graph and the links or
// settings that explain what is slow, with evidence. It does no I/O and has no clock: hostping/run probes.
package hostping
