// Package pattern runs RDMA programs on a simulated fabric: each process puts,
// gets, polls, completes, computes and meets the others at barriers. Programs
// come from a table of calls, a YAML file, the built-in patterns or Go; out
// comes a Report with the time of every call, what it waited for and which puts
// collided. The packets are simulate/packet's.
//
// It is the prediction of NSIM-ACE: a product of its own besides the analysis of
// congestion regions, with which it shares the topology and nothing else.
package pattern
