// Package incident simulates collectives on a fabric with one injected culprit: a ring,
// halving-doubling, tree or all-to-all of ranks on a leaf-spine fabric, packet by packet
// with PFC (simulate/packet), and a flow, link, host or rank that goes wrong. In goes a
// Spec; out come the records that hosts and switches would have left (a collective.Run),
// what detection cost, and the truth: the culprit, and the nanoseconds that the makespan
// loses when the same simulation runs without it. It diagnoses nothing.
package incident
