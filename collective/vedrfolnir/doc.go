// Package vedrfolnir reads a recorded run of Vedrfolnir's ns-3 simulation: the
// finished transfers, the topology, the switch telemetry, the PFC frames. In goes a
// folder, out comes a collective.Run. Parts that are absent stay empty, lines that
// cannot be read are left out and counted in the run's notes; it judges nothing.
package vedrfolnir
