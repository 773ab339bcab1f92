// Package collective explains why collective operations took as long as they did. The
// input is a Run: the step records of the ranks and, as far as recorded, other flows,
// switch telemetry, PFC pauses and the fabric. The result is a Diagnosis: the makespan,
// the critical path to the nanosecond, and the culprits with class, place and cost in
// nanoseconds of makespan. Subpackages read the recorded formats; this package reads no
// file and no clock.
//
// The method is Vedrfolnir's (Chen et al., "RDMA Network Performance Anomalies
// Diagnosis in Collective Communications", SIGCOMM 2025 poster): decomposition into
// steps, waiting graph, critical path, PFC provenance. docs/explanation/collectives.md
// lists where this package departs from the poster or from errors in the released code.
package collective
