// Package hostping finds bottlenecks inside a host by loopback tomography (Hostping, Liu et al., NSDI'23). The input
// is the description of a host (hwloc, NCCL or nvidia-smi), a baseline of its model, and loopback probes between its
// RNICs and its GPUs and memory nodes; the output is the host's graph and the links or settings that explain what is
// slow, with evidence. It has no I/O and no clock: hostping/run probes.
package hostping
