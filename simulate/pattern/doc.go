// Package pattern runs RDMA programs on a simulated fabric: processes put, get, poll,
// complete, compute and synchronise at barriers. Programs come from a table of calls, a
// YAML file, the built-in patterns or Go; the output is a Report with the time of every
// call, what it waited for and which puts collided. Packets are simulated by
// simulate/packet.
//
// It is the prediction of NSIM-ACE: a product separate from the analysis of congestion
// regions that shares only the topology with it.
package pattern
