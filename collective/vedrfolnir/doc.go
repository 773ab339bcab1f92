// Package vedrfolnir reads a recorded run of Vedrfolnir's ns-3 simulation: the finished
// transfers, the topology, the switch telemetry and the PFC frames. The input is a
// folder, the output a collective.Run. Absent parts stay empty; unreadable lines are
// skipped and counted in the run's notes.
package vedrfolnir
