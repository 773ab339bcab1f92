// Package packet simulates an RDMA fabric packet by packet, event by event: NICs
// with DMA engines, links, input- or output-queued switches with virtual channels,
// virtual cut-through or store and forward, credit-based flow control or PFC,
// ECN and DCQCN, and links that fail or slow down. In go a topology.Graph, a
// Config, transfers and faults; out come the times of every transfer and the
// counters of every directed link, at any simulated instant. It knows no programs
// (simulate/pattern does) and draws nothing from outside: the same input gives the
// same result.
//
// The model with DefaultConfig is NSIM-ACE's (Susukita et al., "Performance
// Evaluation of RDMA Communication Patterns by Means of Simulations"); what that
// paper leaves open is a parameter of its own, documented at Config.
//
// Packet and simulate/pattern serve the prediction of communication patterns
// (NSIM-ACE), a product of its own besides the analysis of congestion regions, with
// which it shares the topology and nothing else. Stories (simulate/scenario) run on
// the fluid model; packet mode checks it.
package packet
