// Package collective says why collective operations took as long as they did. In
// goes a Run: the step records of the ranks, and what else was recorded (other
// flows, switch telemetry, PFC pauses, the fabric), each of which may be absent.
// Out comes a Diagnosis: the makespan, the critical path to the nanosecond, and the
// culprits with their class, place and cost in nanoseconds of makespan. Readers of
// the recorded forms are packages below this one; it reads no file and no clock.
//
// The method is Vedrfolnir's (Chen et al., "RDMA Network Performance Anomalies
// Diagnosis in Collective Communications", SIGCOMM 2025 poster): decomposition into
// steps, waiting graph, critical path, PFC provenance. Where the released code
// differs from the poster or is wrong, docs/explanation/collectives.md says what is
// done here.
package collective
