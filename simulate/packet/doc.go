// Package packet simulates an RDMA fabric packet by packet: NICs with DMA
// engines, links, input-buffered switches with virtual channels, virtual
// cut-through, credits or priority pauses, rate control, and links that fail or
// slow down. In go a topology.Graph, a Config, transfers and faults; out come
// the times of every transfer and the counters of every directed link, at any
// simulated instant. It knows no programs (simulate/pattern does) and draws
// nothing from outside: the same input gives the same result.
//
// The model with DefaultConfig is NSIM-ACE's (Susukita et al., "Performance
// Evaluation of RDMA Communication Patterns by Means of Simulations"); what that
// paper leaves open is a parameter of its own, documented at Config.
package packet
