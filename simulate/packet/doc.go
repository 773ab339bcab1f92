// Package packet is a packet-level discrete-event simulation of an RDMA fabric: NICs
// with DMA engines, links, input- or output-queued switches with virtual channels,
// virtual cut-through or store and forward, credit-based flow control or PFC, ECN and
// DCQCN, and links that fail or slow down. Input: a topology.Graph, a Config, transfers
// and faults. Output: the times of every transfer and the counters of every directed
// link, at any simulated instant. It does not know programs (see simulate/pattern) and
// is deterministic.
//
// The model with DefaultConfig is NSIM-ACE's (Susukita et al., "Performance Evaluation
// of RDMA Communication Patterns by Means of Simulations"); what that paper leaves open
// is a parameter, documented at Config.
//
// Packet and simulate/pattern are for the prediction of communication patterns
// (NSIM-ACE), a separate product that shares only the topology with the analysis of
// congestion regions. Stories (simulate/scenario) run on the fluid model, which packet
// mode validates.
package packet
