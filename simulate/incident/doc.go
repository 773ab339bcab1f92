// Package incident simulates collectives on a fabric with one injected culprit: a ring,
// halving-doubling, tree or all-to-all of ranks on a leaf-spine fabric, packet by packet
// with PFC (simulate/packet), and a faulty flow, link, host or rank. The input is a Spec;
// the output is the records that hosts and switches would leave (a collective.Run), the cost
// of detection, and the ground truth: the culprit, and by how many nanoseconds the makespan
// shrinks if the same simulation runs without it. It diagnoses nothing.
package incident
