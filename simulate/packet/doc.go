// Package packet is a discrete-event simulation of an RDMA fabric at packet level: NICs
// with DMA engines, links, input- or output-queued switches with virtual channels,
// virtual cut-through or store and forward, credit-based flow control or PFC, ECN and
// DCQCN, and links that fail or slow down. The input is a topology.Graph, a Config,
// transfers and faults; the output is the times of every transfer and the counters of
// every directed link at any simulated instant. It knows no programs (see
// simulate/pattern). It is deterministic.
//
// The model with DefaultConfig is NSIM-ACE's (Susukita et al., "Performance Evaluation
// of RDMA Communication Patterns by Means of Simulations"); what that paper leaves open
// is a separate parameter, documented at Config.
//
// Packet and simulate/pattern serve the prediction of communication patterns
// (NSIM-ACE), a product separate from the analysis of congestion regions that shares
// only the topology with it. Stories (simulate/scenario) run on the fluid model; packet
// mode checks it.
package packet
